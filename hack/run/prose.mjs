import { appendFileSync } from 'node:fs';
import { checkGrammar, readBaseline, writeBaseline } from '../prose/grammar.mjs';
import { lintedFiles, lintFiles, readExceptions } from '../prose/lint.mjs';
import { nodeBinary, repositoryRoot, serviceEnvironment } from './environment.mjs';
import { runQuietly } from './quiet.mjs';
import { RunError } from './run-error.mjs';

export const PROSE_USAGE = `Usage: npm run lint:prose [-- path… | -- --shrink]
Checks docs, comments and strings with the rules of hack/prose. --shrink lowers hack/prose/grammar-baseline.json to what files have now.`;

/** `npm run lint:prose`. @returns the exit code: 1 if there are findings */
export async function runProse(args) {
  if (args.length === 1 && args[0] === '--shrink') return shrinkBaseline();
  const unknown = args.find((arg) => arg.startsWith('-'));
  if (unknown !== undefined) throw new RunError(`Unknown option ${unknown}.\n\n${PROSE_USAGE}`);
  const program = await findVale();
  if (program.missing) throw new RunError(`${program.missing.reason} ${program.missing.install}`);
  const findings = await lint(program.path, args);
  for (const finding of findings) console.log(line(finding));
  console.log(findings.length === 0 ? 'No findings.' : `Findings: ${findings.length}`);
  return findings.length === 0 ? 0 : 1;
}

/** A step of `npm test`. A machine without Go or a C compiler skips it, which CI reports as a failure. */
export function proseStep({ needs, skipsFile }) {
  return {
    name: 'prose',
    needs,
    run: async () => {
      const program = await findVale();
      if (program.missing) return missing(program.missing, skipsFile);
      const findings = await lint(program.path, []);
      return { ok: findings.length === 0, output: findings.map(line).join('\n') };
    },
  };
}

function missing(part, skipsFile) {
  if (process.env.CI === 'true') return { ok: false, output: `${part.reason} ${part.install}` };
  appendFileSync(skipsFile, `${JSON.stringify({ part: 'vale', suite: 'prose', ...part })}\n`);
  return { ok: true };
}

async function lint(vale, paths) {
  const exceptions = readExceptions();
  const files = lintedFiles(repositoryRoot, exceptions, paths);
  const { findings } = checkGrammar({ root: repositoryRoot, files, baseline: readBaseline() });
  const phrases = await lintFiles({ vale, root: repositoryRoot, files, allowed: exceptions.allowed });
  return [...phrases, ...findings];
}

function shrinkBaseline() {
  const files = lintedFiles(repositoryRoot, readExceptions());
  writeBaseline(checkGrammar({ root: repositoryRoot, files, baseline: readBaseline() }).baseline);
  return 0;
}

const line = ({ path, line: number, rule, message }) => `${path}:${number}: ${message} (${rule})`;

/** Builds Vale when this machine does not have it. @returns {Promise<{ path?: string, missing?: { reason: string, install: string } }>} */
async function findVale() {
  const { code, output } = await runQuietly(nodeBinary, ['packages/testkit/dist/bin/vale.js'], {
    cwd: repositoryRoot,
    env: serviceEnvironment(),
  });
  if (code !== 0) throw new RunError(output.trim());
  return JSON.parse(output);
}
