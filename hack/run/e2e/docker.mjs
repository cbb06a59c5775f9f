import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../environment.mjs';
import { withLock } from '../lock.mjs';
import { RunError } from '../run-error.mjs';
import { mustRun, run } from './commands.mjs';
import { cacheFolder } from './settings.mjs';

const scripts = join(repositoryRoot, 'hack/cluster');

/**
 * Finds a running Docker, or starts one and sets DOCKER_HOST to its socket.
 *
 * @returns {Promise<{ own: boolean, release: () => Promise<void> }>} `release`: call it after use
 * @throws RunError with instructions
 */
export async function findDocker({ report = console.log, env = process.env } = {}) {
  if (await answers()) return { own: false, release: async () => {} };
  if (env.DOCKER_HOST) throw new RunError(`Docker is unreachable at DOCKER_HOST (${env.DOCKER_HOST}).`);
  refuseWithoutRoot();
  const folder = join(cacheFolder(env), 'docker');
  const users = join(folder, 'users');
  const locked = (work) => withLock(work, { file: join(folder, 'lock'), report });
  await locked(async () => {
    report('No Docker is running: starting one…');
    await mustRun(join(scripts, 'packages.sh'), ['docker'], { limitS: 900, failure: 'Docker could not be installed' });
    await mustRun(join(scripts, 'dockerd.sh'), ['start', folder], { failure: 'Docker could not be started' });
    mkdirSync(users, { recursive: true });
    writeFileSync(join(users, String(process.pid)), '');
  });
  process.env.DOCKER_HOST = `unix://${folder}/docker.sock`;
  return { own: true, release: () => locked(() => stopIfUnused(folder, users)) };
}

async function answers() {
  return (await run('docker', ['version', '--format', '{{.Server.Version}}'], { limitS: 20 })).code === 0;
}

function refuseWithoutRoot() {
  if (process.platform === 'linux' && process.getuid() === 0) return;
  throw new RunError(
    'npm run e2e requires Docker: start it, or run the command as root on Linux, where it starts Docker itself.',
  );
}

/** A kept cluster still runs in it, and another checkout may use it. */
async function stopIfUnused(folder, users) {
  rmSync(join(users, String(process.pid)), { force: true });
  for (const pid of readdirSync(users)) {
    if (existsSync(`/proc/${pid}`)) return;
    rmSync(join(users, pid));
  }
  const signal = undefined;
  const { code, output } = await run('docker', ['ps', '--quiet'], { signal });
  if (code === 0 && output.trim() !== '') return;
  // Untagged images from previous runs.
  await run('docker', ['image', 'prune', '--force'], { limitS: 120, signal });
  await mustRun(join(scripts, 'dockerd.sh'), ['stop', folder], { limitS: 120, signal });
}
