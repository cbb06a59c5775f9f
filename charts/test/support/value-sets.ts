import { readdir } from 'node:fs/promises';
import { CHART } from './rendering.js';

/** The repository's value files. Several, separated by spaces, are used together. */
export const SCENARIOS = [
  ...(await readdir(`${CHART}/ci`)).map((name) => `charts/uswarm/ci/${name}`),
  'deploy/kind/values.yaml',
  'deploy/production/values.yaml',
  // On top of other values.
  ...[
    'eks/values',
    'gke/values',
    'gke/ingress-values',
    'openshift/values',
    'cert-manager/values',
    'keda/values',
    'isolation/user-namespaces-values',
    'isolation/gvisor-values',
  ].map((name) => `deploy/production/values.yaml deploy/${name}.yaml`),
];
