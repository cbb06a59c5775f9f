import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { serviceEnvironment } from '../run/environment.mjs';
import { mustRunQuietly } from '../run/quiet.mjs';

/** A signing configuration without services: neither a transparency log nor a time stamp authority. */
const NO_SERVICES = { mediaType: 'application/vnd.dev.sigstore.signingconfig.v0.2+json' };

/**
 * Signs through `cosign`, with a key or, without one, with the CI job's identity.
 *
 * @param {object} options
 * @param {string} options.program path of cosign
 * @param {string} options.folder for temporary files
 * @param {string} [options.key] a file, `env://NAME` or a URI of a key management service; `COSIGN_PASSWORD` decrypts a file
 * @param {boolean} [options.log] write to the public transparency log
 * @param {boolean} [options.plainHttp]
 */
export function createSigner({ program, folder, key, log = true, plainHttp = false }) {
  const signingConfig = join(folder, 'signing-config.json');
  if (!log) writeFileSync(signingConfig, JSON.stringify(NO_SERVICES));
  const identity = [
    '--yes',
    ...(key === undefined ? [] : ['--key', key]),
    ...(log ? [] : ['--signing-config', signingConfig]),
  ];
  const remote = plainHttp ? ['--allow-http-registry'] : [];
  const cosign = (args, failure) => mustRunQuietly(program, args, { env: serviceEnvironment(), failure });
  return {
    /** Signs an artefact in a registry; an index with its images. */
    sign: (ref) => cosign(['sign', '--recursive', ...identity, ...remote, ref], `${ref} could not be signed`),

    /** @param {'cyclonedx' | 'slsaprovenance1'} type */
    attest: (ref, type, predicate) =>
      cosign(
        ['attest', '--type', type, '--predicate', predicate, ...identity, ...remote, ref],
        `The ${type} statement of ${ref} could not be signed`,
      ),

    /** Writes `FILE.sigstore.json`. */
    signFile: (file) =>
      cosign(['sign-blob', ...identity, '--bundle', `${file}.sigstore.json`, file], `${file} could not be signed`),
  };
}

/** Writes `cosign.key` and `cosign.pub` to the folder, without a password. */
export async function generateKey(program, folder) {
  const env = { ...serviceEnvironment(), COSIGN_PASSWORD: '' };
  await mustRunQuietly(program, ['generate-key-pair'], { cwd: folder, env, failure: 'A key could not be generated' });
  return { key: join(folder, 'cosign.key'), publicKey: join(folder, 'cosign.pub') };
}
