import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { countsPerFolder, folderOf, lintedFiles, lintFiles, readExceptions, regressions } from '../prose/lint.mjs';
import { nodeBinary, repositoryRoot, serviceEnvironment } from './environment.mjs';
import { runQuietly } from './quiet.mjs';
import { RunError } from './run-error.mjs';

const USAGE = `Usage: npm run lint:prose [-- [--counts] [path…] | -- --update]
Checks docs, comments and strings with the rules of hack/prose.
  --counts   print only the number of findings per folder
  --update   lower the numbers in hack/prose/remaining.json to the current ones`;

/** Findings per folder that are still accepted; a number may only fall. */
const REMAINING = join(repositoryRoot, 'hack/prose/remaining.json');

/** `npm run lint:prose`. @returns the exit code: 1 when a folder has more findings than accepted */
export async function runProse(args) {
  const options = new Set(args.filter((arg) => arg.startsWith('-')));
  const paths = args.filter((arg) => !arg.startsWith('-'));
  if (options.has('--help')) {
    console.log(USAGE);
    return 0;
  }
  const unknown = [...options].find((option) => !['--counts', '--update'].includes(option));
  if (unknown !== undefined) throw new RunError(`Unknown option ${unknown}.\n\n${USAGE}`);
  if (options.has('--update') && paths.length > 0)
    throw new RunError(`--update cannot be used with paths.\n\n${USAGE}`);
  const program = await findVale();
  if (program.missing) throw new RunError(`${program.missing.reason} ${program.missing.install}`);
  const findings = await lint(program.path, paths);
  const counts = countsPerFolder(findings);
  if (!options.has('--counts')) for (const finding of findings) console.log(line(finding));
  for (const [folder, count] of counts) console.log(`${String(count).padStart(6)}  ${folder}`);
  console.log(`${String(findings.length).padStart(6)}  total`);
  if (options.has('--update')) lower(counts);
  return regressions(counts, readRemaining()).length === 0 ? 0 : 1;
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
      const folders = regressions(countsPerFolder(findings), readRemaining());
      const output = findings.filter(({ path }) => folders.includes(folderOf(path))).map(line);
      return { ok: folders.length === 0, output: output.join('\n') };
    },
  };
}

function missing(part, skipsFile) {
  if (process.env.CI === 'true') return { ok: false, output: `${part.reason} ${part.install}` };
  appendFileSync(skipsFile, `${JSON.stringify({ part: 'vale', suite: 'prose', ...part })}\n`);
  return { ok: true };
}

function lint(vale, paths) {
  const exceptions = readExceptions();
  const files = lintedFiles(repositoryRoot, exceptions, paths);
  return lintFiles({ vale, root: repositoryRoot, files, allowed: exceptions.allowed });
}

const line = ({ path, line: number, rule, message }) => `${path}:${number}: ${message} (${rule})`;

const readRemaining = () => JSON.parse(readFileSync(REMAINING, 'utf8'));

function lower(counts) {
  const lowered = Object.entries(readRemaining()).map(([folder, count]) => [
    folder,
    Math.min(count, counts.get(folder) ?? 0),
  ]);
  const left = Object.fromEntries(lowered.filter(([, count]) => count > 0));
  writeFileSync(REMAINING, `${JSON.stringify(left, null, 2)}\n`);
}

/** Builds Vale when this machine does not have it. @returns {Promise<{ path?: string, missing?: { reason: string, install: string } }>} */
async function findVale() {
  const { code, output } = await runQuietly(nodeBinary, ['packages/testkit/dist/bin/vale.js'], {
    cwd: repositoryRoot,
    env: serviceEnvironment(),
  });
  if (code !== 0) throw new RunError(output.trim());
  return JSON.parse(output);
}
