import { USERSWARM_API_VERSION, USERSWARM_KIND, userSwarmName, UserSwarmSpec } from '@uswarm/contract/userswarm';
import { renderTemplate } from './deployment.js';
import { revisionOf } from './revision.js';
import type { TemplateSettings } from './settings.js';

const SAMPLE_WORKSPACE = 'sample';

/** Two sample specs: one with only defaults, one with every field set. */
const SAMPLES = [
  { userId: 'sample' },
  {
    userId: 'sample',
    runtime: { resources: { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '2', memory: '2Gi' } } },
    config: { defaultProvider: 'sample', defaultModel: 'sample', envSecretRef: { name: 'sample' } },
  },
].map((spec) => UserSwarmSpec.parse(spec));

/**
 * The platform's revision as far as it affects pods: a hash of the templates that it renders for samples. It covers the
 * image, keys, pod settings and code.
 */
export function platformRevision(settings: TemplateSettings): string {
  const metadata = { name: userSwarmName(SAMPLE_WORKSPACE) };
  return revisionOf(
    SAMPLES.map((spec) => {
      const parent = { apiVersion: USERSWARM_API_VERSION, kind: USERSWARM_KIND, metadata, spec } as const;
      return renderTemplate({ parent, spec, image: settings.image, settings });
    }),
  );
}
