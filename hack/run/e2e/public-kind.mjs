import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { RunError } from '../run-error.mjs';
import { mustRun, run } from './commands.mjs';
import { cacheFolder } from './settings.mjs';

const VERSION = 'v0.33.0';
/** The default node image of this version of kind. */
const IMAGE = 'kindest/node:v1.37.0@sha256:a1ed56cfb0e7b93589bdf97c8cd566405a265939e3620fc4f5de89adff580ae5';

/** @returns {Promise<string | undefined>} the public node image in Docker's store, pulled if necessary */
export async function publicNodeImage({ report = console.log, image = IMAGE } = {}) {
  if ((await run('docker', ['image', 'inspect', image])).code === 0) return image;
  report(`  pulling ${image.split('@')[0]}`);
  const { code } = await run('docker', ['pull', '--quiet', image], { limitS: 300 });
  return code === 0 ? image : undefined;
}

/** @returns the path of kind: from PATH, or installed with Go. @throws RunError */
export async function kindProgram() {
  const found = await run('bash', ['-c', 'command -v kind']);
  if (found.code === 0) return found.output.trim();
  const folder = join(cacheFolder(), `kind-${VERSION}`);
  const program = join(folder, 'kind');
  if (existsSync(program)) return program;
  mkdirSync(folder, { recursive: true });
  if ((await run('go', ['version'])).code !== 0) throw new RunError('kind is missing: install kind or Go.');
  const env = { ...process.env, GOBIN: folder, CGO_ENABLED: '0' };
  await mustRun('go', ['install', `sigs.k8s.io/kind@${VERSION}`], { env, limitS: 600 });
  return program;
}
