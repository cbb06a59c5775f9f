import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { seconds } from '../run/environment.mjs';
import { runQuietly, tail } from '../run/quiet.mjs';
import { RunError } from '../run/run-error.mjs';
import { imageCache } from './debian.mjs';

/** Python in the Debian images, which may differ from the Python that runs pip. */
const PYTHON = '3.11';
const ARCHITECTURES = { x64: 'x86_64', arm64: 'aarch64' };
/** Debian 12 has glibc 2.36. */
const GLIBC = ['manylinux_2_28', 'manylinux_2_17', 'manylinux2014'];

/**
 * Downloads the packages in `requirements`, a text with hashes, for the Python in the test images.
 *
 * @returns {Promise<string>} their folder, cached by requirements
 * @throws RunError
 */
export async function pythonPackages({ name, requirements, report = console.log, cache = imageCache() }) {
  const architecture = ARCHITECTURES[process.arch];
  const hash = createHash('sha256')
    .update(JSON.stringify([requirements, PYTHON, architecture]))
    .digest('hex');
  const folder = join(cache, `${name}-packages-${hash.slice(0, 12)}`);
  if (existsSync(folder)) return folder;
  const started = performance.now();
  report(`Downloading the Python packages of ${name}…`);
  const draft = `${folder}.${randomUUID()}`;
  try {
    mkdirSync(draft, { recursive: true });
    const list = join(draft, 'requirements.txt');
    writeFileSync(list, requirements);
    await install(name, list, join(draft, 'packages'), architecture);
    renameSync(join(draft, 'packages'), folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  report(`  ${name} (${seconds(performance.now() - started)})`);
  return folder;
}

async function install(name, list, target, architecture) {
  const platforms = GLIBC.map((tag) => `--platform=${tag}_${architecture}`);
  const checked = ['--require-hashes', '--only-binary=:all:', '--no-deps', '--no-compile'];
  const quiet = ['--quiet', '--no-input', '--disable-pip-version-check', '--no-warn-script-location'];
  const interpreter = [`--python-version=${PYTHON}`, '--implementation=cp', ...platforms];
  const { code, output } = await runQuietly(
    'python3',
    ['-m', 'pip', 'install', '--target', target, ...checked, ...quiet, ...interpreter, '-r', list],
    // `user = true` in the pip settings conflicts with `--target`.
    { env: { ...process.env, PIP_USER: '0' } },
  );
  if (code === 0) return;
  if (/spawn python3 ENOENT|No module named pip/.test(output)) {
    throw new RunError(`The image of ${name} needs pip: install python3 and python3-pip.`);
  }
  throw new RunError(`${tail(output, 5)}\n\nThe Python packages of ${name} could not be downloaded: see above.`);
}
