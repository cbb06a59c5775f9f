import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serviceEnvironment } from '../run/environment.mjs';
import { runQuietly, tail } from '../run/quiet.mjs';
import { RunError } from '../run/run-error.mjs';
import { setTimes, writeContext } from './content.mjs';

/** Label with an image's content hash, so that an unchanged image is not built again. */
const CONTENT_LABEL = 'dev.uswarm.content';

/** @returns the output of docker. @throws RunError with its last lines */
export async function docker(args, { failure = `docker ${args[0]} failed` } = {}) {
  const { code, output } = await tryDocker(args);
  if (code === 0) return output.trim();
  if (/spawn docker ENOENT/.test(output)) {
    throw new RunError('docker is not in PATH: install Docker or a compatible program.');
  }
  if (/cannot connect to the docker daemon|error during connect|permission denied.*docker/i.test(output)) {
    throw new RunError(`Docker is unreachable: start it, or set DOCKER_HOST.\n${tail(output, 2)}`);
  }
  throw new RunError(`${tail(output, 20)}\n\n${failure}.`);
}

/** Runs docker and returns its exit code instead of throwing. */
export function tryDocker(args) {
  // The builder `default` uses the image store of Docker.
  const env = { BUILDX_BUILDER: 'default', ...serviceEnvironment() };
  return runQuietly('docker', args, { env });
}

/** @returns {Promise<{ id: string, bytes: number, content: string | undefined } | undefined>} */
export async function inspectImage(ref) {
  const { code, output } = await tryDocker(['image', 'inspect', '--format', '{{json .}}', ref]);
  if (code === 0) {
    // The output can contain client warnings.
    const answer = output.split('\n').find((line) => line.startsWith('{')) ?? '{}';
    const { Id: id, Size: bytes, Config } = JSON.parse(answer);
    return { id, bytes, content: Config?.Labels?.[CONTENT_LABEL] };
  }
  // Other errors than "no such image" get a separate message.
  if (!/no such image/i.test(output)) await docker(['version', '--format', '{{.Server.Version}}']);
  return undefined;
}

/**
 * Builds an image of `entries` unless `ref` has the same content. `prepare` may add files to the build context.
 * @returns whether it was built
 */
export async function buildImage({
  ref,
  dockerfile,
  entries,
  content,
  args = {},
  platform,
  prepare,
  report = console.log,
}) {
  const known = await inspectImage(ref);
  if (known?.content === content) return false;
  report(`Building ${ref}…`);
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
