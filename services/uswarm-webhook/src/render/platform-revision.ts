import { USERSWARM_API_VERSION, USERSWARM_KIND, userSwarmName, UserSwarmSpec } from '@uswarm/contract/userswarm';
import { renderTemplate } from './deployment.js';
import { revisionOf } from './revision.js';
import type { TemplateSettings } from './settings.js';

const SAMPLE_WORKSPACE = 'sample';

/** One that leaves everything to the platform, and one that says everything itself. */
const SAMPLES = [
  { userId: 'sample' },
  {
    userId: 'sample',
    runtime: { resources: { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '2', memory: '2Gi' } } },
    config: { defaultProvider: 'sample', defaultModel: 'sample', envSecretRef: { name: 'sample' } },
  },
].map((spec) => UserSwarmSpec.parse(spec));

/**
 * What tells one release of the platform from another, as far as pods can: the templates that it
 * renders for a sample. Image, keys, settings of pods and the code are all in it.
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
