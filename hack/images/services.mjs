/**
 * The services that get an image `uswarm/<name>`: the programs of `services/<name>/dist` that it can run, each bundled
 * into one file, and the files beside them that they read. `warmUp` is the environment in which `main` can start
 * without any other server while the compile cache is made; `nodeOptions` is the image's NODE_OPTIONS.
 */
export const services = [
  {
    name: 'orchestrator',
    programs: ['main', 'main.nonproduction', 'migrate-main'],
    files: ['config', 'migrations'],
  },
  { name: 'realtime-gateway', programs: ['main'] },
  { name: 'uswarm-webhook', programs: ['main'] },
  { name: 'uswarm-controller', programs: ['main', 'drain-main'] },
  { name: 'searxng-client', programs: ['main', 'cli'] },
  {
    name: 'agent-runtime',
    programs: ['main'],
    // A small nursery: a runtime waits most of the time, and there is one per workspace.
    nodeOptions: '--max-semi-space-size=1',
    warmUp: {
      USWARM_WORKSPACE_ID: 'warm-up',
      USWARM_USER_ID: 'warm-up',
      USWARM_RUNTIME_HOST: '127.0.0.1',
      USWARM_RUNTIME_PORT: '0',
      // The private half was not kept.
      USWARM_CALL_PUBLIC_KEY:
        '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEATEwslEwkMJm5lzqOQjVgBepePAIq16o7Aubi12/HkYc=\n-----END PUBLIC KEY-----\n',
    },
  },
];
