import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fingerprint } from '../run/fingerprint.mjs';
import { runQuietly, tail } from '../run/quiet.mjs';

const REQUIREMENTS = 'packages/code-runner/python/requirements.txt';

/** Where the runner of code looks for them. Images have copies. */
const PYTHON_WHEELS = 'packages/code-runner/dist/python';

/** Contains the requirements' fingerprint. */
const WHEELS_STAMP = '.downloaded';

/**
 * Downloads the packages for Python code, by their hashes, unless they are there. A checkout without pip or network works
 * without them; an image is not built then.
 */
export async function downloadPythonWheels(root, { run = runQuietly, report = console.log } = {}) {
  const folder = join(root, PYTHON_WHEELS);
  if (hasPythonWheels(root)) return;
  const draft = `${folder}.${randomUUID()}`;
  try {
    mkdirSync(draft, { recursive: true });
    const checked = ['--require-hashes', '--only-binary=:all:', '--no-deps'];
    const quiet = ['--quiet', '--no-input', '--disable-pip-version-check'];
    const { code, output } = await run(
      'python3',
      ['-m', 'pip', 'download', '--dest', draft, ...checked, ...quiet, '-r', join(root, REQUIREMENTS)],
      { env: process.env },
    );
    if (code !== 0) {
      report(`${tail(output, 3)}\nPython code of agents runs without its packages: pip could not download them.`);
      return;
    }
    writeFileSync(join(draft, WHEELS_STAMP), stateOf(root));
    rmSync(folder, { recursive: true, force: true });
    renameSync(draft, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function hasPythonWheels(root) {
  const stamp = join(root, PYTHON_WHEELS, WHEELS_STAMP);
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === stateOf(root);
}

/** The wheels' paths below the root. */
export function pythonWheels(root) {
  if (!hasPythonWheels(root)) return [];
  return readdirSync(join(root, PYTHON_WHEELS))
    .filter((name) => name.endsWith('.whl'))
    .map((name) => `${PYTHON_WHEELS}/${name}`);
}

/** The same packages for a CycloneDX document. */
export function pythonComponents(root) {
  const requirements = readFileSync(join(root, REQUIREMENTS), 'utf8');
  return [...requirements.matchAll(/^([\w-]+)==(\S+) \\\n +--hash=sha256:(\w+)$/gm)].map(([, name, version, hash]) => {
    const purl = `pkg:pypi/${name.replaceAll('_', '-')}@${version}`;
    return { type: 'library', name, version, purl, 'bom-ref': purl, hashes: [{ alg: 'SHA-256', content: hash }] };
  });
}

const stateOf = (root) => fingerprint(root, [REQUIREMENTS]);
