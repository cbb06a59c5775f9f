import { eventually } from '@uswarm/testkit/eventually';
import { CHART } from './release.js';
import type { Tools } from './tools.js';

const APPLY = ['apply', '--server-side', '--force-conflicts', '-f', '-'];
const DELETE = ['delete', '--ignore-not-found', '--wait=false', '-f', '-'];

/**
 * Renders one admission template of the chart and the lists that it reads, for a release that is not installed.
 *
 * @returns the manifest as YAML
 */
export async function renderAdmission(
  { helm }: Pick<Tools, 'helm'>,
  { name, template, runtime }: { name: string; template: 'userswarms' | 'deployments'; runtime: object },
): Promise<string> {
  const values = {
    fullnameOverride: name,
    images: { registry: 'registry.test' },
    evaluation: { enabled: true },
    oidc: { issuers: [{ issuer: 'https://login.example.com', audience: 'app' }] },
    runtime,
  };
  const templates = [`admission/${template}`, 'webhook/policy'].flatMap((path) => ['-s', `templates/${path}.yaml`]);
  const { stdout } = await helm(['template', name, CHART, '-n', name, '-f', '-', ...templates], {
    input: JSON.stringify(values),
  });
  return stdout;
}

/** Applies the manifest; when that fails, deletes the objects again. @returns a function that deletes its objects */
export async function applyManifest(
  { kubectl }: Pick<Tools, 'kubectl'>,
  manifest: string,
): Promise<() => Promise<void>> {
  const cleanUp = async (): Promise<void> => void (await kubectl(DELETE, { input: manifest }));
  try {
    await kubectl(APPLY, { input: manifest });
  } catch (error) {
    await cleanUp();
    throw error;
  }
  return cleanUp;
}

/** Waits until the policy rejects an attempt with this reason. `refusal` returns undefined for an accepted attempt. */
export function policyInForce(refusal: () => Promise<string | undefined>, reason: RegExp): Promise<true> {
  return eventually(
    async () => {
      const actual = (await refusal()) ?? 'accepted';
      if (!reason.test(actual)) throw new Error(actual);
      return true;
    },
    { description: 'the policy is in force', timeoutMs: 30_000 },
  );
}
