/**
 * The services that get an image `uswarm/<name>`: `services/<name>` with its `dist`, its production
 * packages, and the files beside them that it reads when it runs.
 */
export const services = [
  { name: 'orchestrator', files: ['config', 'migrations'] },
  { name: 'realtime-gateway' },
  { name: 'uswarm-webhook' },
  { name: 'uswarm-controller' },
  { name: 'searxng-client' },
  { name: 'agent-runtime' },
];
