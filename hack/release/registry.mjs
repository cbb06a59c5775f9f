import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { serviceEnvironment } from '../run/environment.mjs';
import { mustRunQuietly } from '../run/quiet.mjs';
import { RunError } from '../run/run-error.mjs';

/**
 * A container registry, through `crane`.
 *
 * @param {string} program path of crane
 * @param {{ plainHttp?: boolean }} [options]
 */
export function openRegistry(program, { plainHttp = false } = {}) {
  const crane = async (args, failure) => {
    const flags = plainHttp ? ['--insecure'] : [];
    const output = await mustRunQuietly(program, [...args, ...flags], { env: serviceEnvironment(), failure });
    // Warnings and progress come first.
    return output.trim().split('\n').at(-1);
  };
  const digestOf = (ref) => /@(sha256:[0-9a-f]{64})$/.exec(ref)?.[1];
  return {
    /** @returns an image's digest or, with a platform, the digest for that platform */
    digest: (ref, platform) =>
      crane(
        ['digest', ref, ...(platform === undefined ? [] : ['--platform', platform])],
        `${ref} could not be read from the registry`,
      ),

    /**
     * Pushes an image without a tag.
     *
     * @param {{ repository: string, base: string, platform: string, layers: string[],
     *   config?: import('./dockerfile.mjs').ImageConfig }} image `layers`: tar files
     * @returns its digest
     */
    async pushImage({ repository, base, platform, layers, config }) {
      const list = (flag, values) => values.flatMap((value) => [flag, value]);
      const pair = (flag, values) =>
        list(
          flag,
          Object.entries(values).map(([name, value]) => `${name}=${value}`),
        );
      const settings =
        config === undefined
          ? []
          : [
              ...pair('--env', config.env),
              ...pair('--label', config.labels),
              ...list('--entrypoint', config.entrypoint),
              ...list('--cmd', config.cmd),
              '--user',
              config.user,
              '--workdir',
              config.workdir,
            ];
      const pushed = await crane(
        ['mutate', base, '--platform', platform, ...list('--append', layers), ...settings, '--repo', repository],
        `An image could not be pushed to ${repository}`,
      );
      return digestOf(pushed);
    },

    /** Pushes an image with one layer and no settings. @returns its reference with digest */
    async pushRoot({ repository, platform, layer }) {
      const ref = `${repository}:${platform.replace('/', '-')}`;
      await crane(['append', '--oci-empty-base', '-f', layer, '-t', ref], `${ref} could not be pushed`);
      return crane(['mutate', ref, '--set-platform', platform, '--tag', ref], `${ref} could not be changed`);
    },

    /** Tags the images for all platforms together. @returns the index digest */
    async pushIndex({ repository, tag, digests }) {
      const manifests = digests.flatMap((digest) => ['-m', `${repository}@${digest}`]);
      const ref = `${repository}:${tag}`;
      const pushed = await crane(['index', 'append', ...manifests, '-t', ref], `${ref} could not be pushed`);
      return digestOf(pushed);
    },

    /** Writes an image's files as tar file. */
    exportFiles: (ref, platform, file) =>
      crane(['export', '--platform', platform, ref, file], `${ref} could not be pulled`),
  };
}

/** Starts a registry on this machine, which keeps nothing. @returns {Promise<{ address: string, close: () => Promise<void> }>} */
export async function startRegistry(program) {
  const server = spawn(program, ['registry', 'serve', '--address', '127.0.0.1:0'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exit = once(server, 'exit');
  const close = async () => {
    server.kill();
    await exit;
  };
  return { address: await listeningAddress(server), close };
}

function listeningAddress(server) {
  return new Promise((resolve, reject) => {
    let log = '';
    // Reads on after the port: the server ends when it cannot write its log.
    server.stderr.on('data', (chunk) => {
      log += chunk;
      const [, port] = /serving on port (\d+)/.exec(log) ?? [];
      if (port !== undefined) resolve(`127.0.0.1:${port}`);
    });
    server.once('error', reject);
    server.once('exit', () => reject(new RunError(`The temporary registry did not start: ${log.trim()}`)));
  });
}
