import {
  exceeds,
  ownEnvSecret,
  parseQuantity,
  type UserSwarm,
  USERSWARM_NAME,
  USERSWARM_NAME_LENGTH,
  UserSwarmSpec,
} from '@uswarm/contract/userswarm';
import type { Policy } from '../config/policy.js';
import { InvalidSpecError } from './invalid-spec-error.js';
import type { RenderSettings } from './settings.js';

/**
 * Validates the spec. Admission rejects most faults already; this covers the rest.
 *
 * @throws InvalidSpecError
 */
export function readSpec(parent: UserSwarm): UserSwarmSpec {
  const { name } = parent.metadata;
  if (!USERSWARM_NAME.test(name) || name.length > USERSWARM_NAME_LENGTH) {
    throw new InvalidSpecError(
      'InvalidSpec',
      `The name needs the form workspace-<id>, at most ${USERSWARM_NAME_LENGTH} characters.`,
    );
  }
  const parsed = UserSwarmSpec.safeParse(parent.spec);
  if (!parsed.success) {
    const faults = parsed.error.issues.map(({ path, message }) => `${['spec', ...path].join('.')}: ${message}`);
    throw new InvalidSpecError('InvalidSpec', faults.join('; '));
  }
  checkResources(parsed.data);
  return parsed.data;
}

function checkResources({ runtime: { resources } }: UserSwarmSpec): void {
  for (const kind of ['requests', 'limits'] as const) {
    for (const resource of ['cpu', 'memory'] as const) {
      const text = resources?.[kind]?.[resource];
      if (text !== undefined && parseQuantity(text) === undefined) {
        throw new InvalidSpecError('InvalidSpec', `spec.runtime.resources.${kind}.${resource}: is not a quantity`);
      }
    }
  }
  for (const resource of ['cpu', 'memory'] as const) {
    const request = resources?.requests?.[resource];
    const limit = resources?.limits?.[resource];
    if (request === undefined || limit === undefined) continue;
    if ((parseQuantity(request)?.milli ?? 0n) > (parseQuantity(limit)?.milli ?? 0n)) {
      throw new InvalidSpecError('InvalidSpec', `spec.runtime.resources.requests.${resource}: is more than its limit`);
    }
  }
}

/** The image of this runtime. @throws InvalidSpecError if it is not allowed */
export function allowedImage(spec: UserSwarmSpec, configured: string, { imagePrefixes }: Policy): string {
  const image = spec.runtime.image;
  if (image === undefined || image === '' || image === configured) return configured;
  if (imagePrefixes.some((prefix) => isUnder(image, prefix))) return image;
  throw new InvalidSpecError('PolicyDenied', `The image ${image} is not allowed.`);
}

/**
 * @param image the runtime image; images other than the configured one may have other providers
 * @throws InvalidSpecError if the runtime does not support the provider
 */
export function checkProvider(
  { config: { defaultProvider } }: UserSwarmSpec,
  image: string,
  settings: Pick<RenderSettings, 'image' | 'providers'>,
): void {
  if (defaultProvider === undefined || image !== settings.image || settings.providers.has(defaultProvider)) return;
  const known = [...settings.providers].join(', ');
  throw new InvalidSpecError(
    'InvalidSpec',
    `spec.config.defaultProvider: ${defaultProvider} is not a provider of the runtime, which has ${known}`,
  );
}

/** `registry/team` covers `registry/team/app` and `registry/team:1`, not `registry/team-other/app`. */
function isUnder(image: string, prefix: string): boolean {
  if (!image.startsWith(prefix)) return false;
  return /[/:@]$/.test(prefix) || image.length === prefix.length || /^[/:@]/.test(image.slice(prefix.length));
}

/** @throws InvalidSpecError */
export function checkPolicy(parent: UserSwarm, spec: UserSwarmSpec, policy: Policy): void {
  const { runtimeNamespace } = spec.placement;
  if (!policy.runtimeNamespaces.has(runtimeNamespace)) {
    throw new InvalidSpecError('PolicyDenied', `The namespace ${runtimeNamespace} is not one for runtimes.`);
  }
  const secret = spec.config.envSecretRef?.name;
  if (secret !== undefined && secret !== ownEnvSecret(parent.metadata.name) && !policy.sharedEnvSecrets.has(secret)) {
    throw new InvalidSpecError('PolicyDenied', `The Secret ${secret} is neither the workspace's own nor a shared one.`);
  }
  checkMaximum(spec, policy);
}

function checkMaximum({ runtime: { resources } }: UserSwarmSpec, { maxResources }: Policy): void {
  for (const kind of ['requests', 'limits'] as const) {
    for (const resource of ['cpu', 'memory'] as const) {
      const text = resources?.[kind]?.[resource];
      const maximum = maxResources[resource];
      if (text === undefined || maximum === undefined || !exceeds(text, maximum)) continue;
      const field = `spec.runtime.resources.${kind}.${resource}`;
      throw new InvalidSpecError('PolicyDenied', `${field}: ${text} is more than the maximum of ${maximum}.`);
    }
  }
}
