// `npm run client-conformance`: see USAGE.
import { readArguments, USAGE, UsageError } from './arguments.js';
import { list, report } from './report.js';
import { runScenarios } from './run.js';
import { GROUPS, SCENARIOS } from './scenarios/index.js';

async function main(args: readonly string[]): Promise<number> {
  const { command, transport, only, json, jobs, patienceMs, ...wanted } = readArguments(args);
  if (wanted.help) return print(USAGE);
  if (wanted.list) return print(list(GROUPS));
  const unknown = only.find((name) => !SCENARIOS.some((scenario) => scenario.name === name));
  if (unknown !== undefined) throw new UsageError(`There is no scenario ${unknown}; --list prints them`);
  const scenarios = SCENARIOS.filter(
    (scenario) =>
      (only.length === 0 || only.includes(scenario.name)) &&
      (scenario.only === undefined || scenario.only === transport),
  );
  if (scenarios.length === 0) throw new UsageError(`The scenario is not for the transport ${transport}`);
  const started = performance.now();
  const progress = json || process.stderr.isTTY !== true ? {} : { onResult: () => void process.stderr.write('.') };
  // npm changes to the package folder; relative paths in the command refer to the caller's folder.
  const cwd = process.env['INIT_CWD'] ?? process.cwd();
  const results = await runScenarios(scenarios, { command, cwd, transport, jobs, patienceMs, ...progress });
  const ms = performance.now() - started;
  if (json) print(JSON.stringify({ transport, results }, null, 2));
  else print(`\n${report(scenarios, results, ms)}`);
  return results.every(({ passed }) => passed) ? 0 : 1;
}

function print(text: string): number {
  process.stdout.write(`${text}\n`);
  return 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n\n${USAGE}\n`);
  process.exitCode = 2;
}
