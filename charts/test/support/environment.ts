import { container, environmentOf, evaluation, type Manifest, render } from './rendering.js';
import { merge } from './value-paths.js';

/** Values that set everything that reaches a service's environment. */
export const FULL = merge(evaluation, {
  secrets: {
    internalApi: { previousKey: 'sync-token' },
    cursor: { previousKey: 'identity-hash-key' },
    identityHash: { previousKey: 'cursor-key' },
    signature: { previousKey: 'cursor-key' },
    sync: { previousKey: 'cursor-key' },
    mcpSigning: { previousKey: 'cursor-key' },
    modelProviders: {
      existingSecret: 'uswarm-evaluation',
      openai: 'cursor-key',
      anthropic: 'sync-token',
      transcription: 'cursor-key',
    },
    modelToken: { previousKey: 'cursor-key' },
    modelCalls: { previousKey: 'cursor-key' },
    callKey: { previousPrivateKey: 'call-private-key' },
  },
  rollout: { maxConcurrent: 2, deadlineSeconds: 3_600, forcedBefore: '2026-11-28T10:00:00Z', maxFailures: 1 },
  start: { maxConcurrent: 0 },
  oidc: {
    issuers: [
      {
        issuer: 'https://login.example.com',
        audience: ['app', 'web'],
        authorizedParties: ['android'],
        jwksUri: 'https://login.example.com/keys',
        id: 'main',
      },
    ],
  },
  operators: {
    issuers: [
      {
        issuer: 'https://staff.example.com/realms/company',
        audience: 'uswarmctl',
        authorizedParties: ['kubelogin'],
        jwksUri: 'https://staff.example.com/keys',
        algorithms: ['RS256'],
        rules: [{ claim: 'realm_access.roles', value: 'uswarm-sre', rights: ['show', 'requeue'] }],
      },
    ],
  },
  http: { trustedProxies: ['10.0.0.0/8', 'loopback'], corsOrigins: ['https://a.example.com', 'https://b.example.com'] },
  ingress: { enabled: true, host: 'api.example.com', tls: { secretName: 'tls' } },
  objectStorage: {
    bucket: 'files',
    endpoint: 'https://s3.example.com',
    region: 'eu',
    prefix: 'a/',
    pathStyle: 'never',
  },
  orchestrator: {
    rateLimits: { sends: { perSecond: 2, burst: 10 } },
    uploads: { maxBytes: 1_000, maxBytesPerUser: 10_000_000_000, atOnce: 3, atOncePerUser: 1, maxFilesPerUser: 50 },
    codeRunner: { enabled: true, processes: 2 },
    schedules: { enabled: false, perUser: 7, minimumMinutes: 30, spreadSeconds: 20 },
    triggers: { enabled: false },
    integrations: { existingConfigMap: 'catalog' },
    push: { preview: false },
    agents: { existingConfigMap: 'agents' },
    models: { existingConfigMap: 'models' },
  },
  toolServers: {
    existingSecret: 'tool-tokens',
    servers: [
      { id: 'tickets', name: 'Tickets', url: 'https://mcp.example.com', auth: { type: 'bearer', secret: 'tickets' } },
    ],
  },
  modelGateway: {
    openai: {
      enabled: true,
      baseUrl: 'https://models.example.com/v1',
      models: { flash: 'small', sonnet: 'medium', opus: 'large' },
      allowedModels: ['extra-1', 'extra-2'],
    },
    anthropic: { enabled: true, model: 'other' },
    transcription: {
      model: 'whisper-1',
      baseUrl: 'https://speech.example.com:8443/v1',
      maxMinutes: 30,
      prices: { perMinute: 6_000 },
    },
    maxOutputTokens: 1_000,
    callsPerMinute: 5,
    concurrentCalls: 2,
    terminationGracePeriodSeconds: 75,
  },
  gateway: { transports: ['websocket'], sockets: { perUser: 3, unreadBytes: 70_000 } },
  runtime: {
    defaultProvider: 'openai',
    defaultModel: 'opus',
    idleSuspendAfterSeconds: 0,
    extraNamespaces: ['team-a'],
    imagePrefixes: ['registry.example.com/agents/'],
    pods: {
      imagePullSecrets: [{ name: 'registry' }],
      nodeSelector: { pool: 'agents' },
      tolerations: [{ key: 'agents', operator: 'Exists' }],
      affinity: { podAntiAffinity: {} },
      topologySpreadConstraints: [{ maxSkew: 1 }],
      priorityClassName: 'low',
      runtimeClassName: 'gvisor',
      labels: { team: 'a' },
      annotations: { note: 'a' },
      extraEnv: [{ name: 'TZ', value: 'UTC' }],
    },
  },
});

/** A container's environment, with the generated secrets. `name` defaults to the component. */
export const environment = (manifests: Manifest[], component: string, name = component): Record<string, string> =>
  environmentOf(manifests, container(manifests, `uswarm-${component}`, name));

/** The chart rendered with the smallest values and with all. */
export async function renderEnvironments(): Promise<{ minimal: Manifest[]; full: Manifest[] }> {
  const [minimal, full] = await Promise.all([render(evaluation), render(FULL)]);
  return { minimal, full };
}
