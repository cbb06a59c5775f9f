import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serviceEnvironment } from '../run/environment.mjs';
import { runQuietly, tail } from '../run/quiet.mjs';
import { RunError } from '../run/run-error.mjs';
import { setTimes, writeContext } from './content.mjs';

/** Tells what an image was made from, so that the same is not made again. */
const CONTENT_LABEL = 'dev.uswarm.content';

/** @returns what docker printed. @throws RunError with its last lines */
export async function docker(args, { failure = `docker ${args[0]} failed` } = {}) {
  const { code, output } = await tryDocker(args);
  if (code === 0) return output.trim();
  if (/spawn docker ENOENT/.test(output)) {
    throw new RunError('There is no docker on PATH: install Docker, or another program with its commands.');
  }
  if (/cannot connect to the docker daemon|error during connect|permission denied.*docker/i.test(output)) {
    throw new RunError(`Docker does not answer; start it, or set DOCKER_HOST.\n${tail(output, 2)}`);
  }
  throw new RunError(`${tail(output, 20)}\n\n${failure}.`);
}

/** The same without a failure: `code` tells. */
export function tryDocker(args) {
  // The builder named `default` keeps what it builds in docker's own store and finds images there.
  const env = { BUILDX_BUILDER: 'default', ...serviceEnvironment() };
  return runQuietly('docker', args, { env });
}

/** @returns {Promise<{ id: string, bytes: number, content: string | undefined } | undefined>} */
export async function inspectImage(ref) {
  const { code, output } = await tryDocker(['image', 'inspect', '--format', '{{json .}}', ref]);
  if (code === 0) {
    // Warnings of the client may stand around it.
    const answer = output.split('\n').find((line) => line.startsWith('{')) ?? '{}';
    const { Id: id, Size: bytes, Config } = JSON.parse(answer);
    return { id, bytes, content: Config?.Labels?.[CONTENT_LABEL] };
  }
  // Anything but "no such image" is worth its own message.
  if (!/no such image/i.test(output)) await docker(['version', '--format', '{{.Server.Version}}']);
  return undefined;
}

/**
 * Builds an image of `entries` unless `ref` was made from the same content. `prepare` may add to the folder that the
 * image is built from. @returns whether it was built.
 */
export async function buildImage({
  ref,
  dockerfile,
  entries,
  content,
  args = {},
  platform,
  prepare,
  say = console.log,
}) {
  const known = await inspectImage(ref);
  if (known?.content === content) return false;
  say(`Building ${ref}…`);
  const context = mkdtempSync(join(tmpdir(), 'uswarm-image-'));
  try {
    writeContext(entries, context);
    if (prepare !== undefined) {
      await prepare(context);
      setTimes(context);
    }
    await build({ ref, dockerfile, context, content, args, platform });
  } finally {
    rmSync(context, { recursive: true, force: true });
  }
  return true;
}

async function build({ ref, dockerfile, context, content, args, platform }) {
  const values = Object.entries({ ...args, CONTENT: content }).flatMap(([name, value]) => [
    '--build-arg',
    `${name}=${value}`,
  ]);
  const target = platform === undefined ? [] : ['--platform', platform];
  await docker(['build', '--file', dockerfile, '--tag', ref, ...target, ...values, context], {
    failure: `The image ${ref} could not be built`,
  });
}

export function megabytes(bytes) {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
