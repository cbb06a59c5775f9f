import { eventually } from '@uswarm/testkit/eventually';
import { CHART } from './release.js';
import type { Tools } from './tools.js';

const APPLY = ['apply', '--server-side', '--force-conflicts', '-f', '-'];
const DELETE = ['delete', '--ignore-not-found', '--wait=false', '-f', '-'];

interface AdmissionRelease {
  name: string;
  templates: readonly ('userswarms' | 'deployments' | 'children')[];
  runtime: object;
  /** Further values. */
  values?: object;
}

/**
 * Renders the chart's admission templates and the lists that they read, for a release that is not installed.
 *
 * @returns the manifest as YAML
 */
export async function renderAdmission(
  { helm }: Pick<Tools, 'helm'>,
  { name, templates, runtime, values = {} }: AdmissionRelease,
  others: readonly string[] = [],
): Promise<string> {
  const input = {
    fullnameOverride: name,
    images: { registry: 'registry.test' },
    evaluation: { enabled: true },
    oidc: { issuers: [{ issuer: 'https://login.example.com', audience: 'app' }] },
    runtime,
    ...values,
  };
  const files = [...templates.map((template) => `admission/${template}`), 'webhook/policy', ...others];
  const selection = files.flatMap((file) => ['-s', `templates/${file}.yaml`]);
  const { stdout } = await helm(['template', name, CHART, '-n', name, '-f', '-', ...selection], {
    input: JSON.stringify(input),
  });
  return stdout;
}

/** Applies the manifest; when that fails, deletes the objects again. @returns a function that deletes its objects */
export async function applyManifest(
  { kubectl }: Pick<Tools, 'kubectl'>,
  manifest: string,
): Promise<() => Promise<void>> {
  // A policy without its list refuses all writes, also by other tests.
  const input = manifest.split(/^---$/m).toReversed().join('\n---\n');
  const cleanUp = async (): Promise<void> => void (await kubectl(DELETE, { input }));
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
    { description: 'the policy is in force', timeoutMs: 60_000 },
  );
}
