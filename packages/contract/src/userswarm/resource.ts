import type { ObjectMeta } from '@uswarm/kube-types';
import { z } from 'zod';
import { CONDITIONS, PHASES } from './conditions.js';
import { DnsLabel, DnsSubdomain, SUBDOMAIN_PATTERN } from './dns-names.js';
import {
  DEFAULT_RUNTIME_NAMESPACE,
  DEFAULT_RUNTIME_PORT,
  type USERSWARM_API_VERSION,
  type USERSWARM_KIND,
} from './names.js';
import { IMAGE_RULES, IMMUTABLE_RULES, QUANTITY_RULES, RESOURCES_RULES } from './rules.js';

// The single source of the custom resource: types, defaults and the CRD schema. Strings, arrays and maps are bounded,
// for CEL's cost estimate and for etcd. `x-kubernetes-…` in the metadata is copied to the CRD; only the API server
// evaluates the rules.

/** A CEL rule validates quantities, because regular expressions do not match all suffixes. */
const Quantity = z
  .union([z.string().min(1).max(32), z.int()])
  .transform(String)
  .meta({ 'x-kubernetes-int-or-string': true, 'x-kubernetes-validations': QUANTITY_RULES });

const ResourceList = z.strictObject({
  cpu: Quantity.optional().meta({ description: 'CPU, in cores: 500m, 2.' }),
  memory: Quantity.optional().meta({ description: 'Memory, in bytes: 512Mi, 1Gi.' }),
});

const Placement = z.strictObject({
  runtimeNamespace: DnsLabel.default(DEFAULT_RUNTIME_NAMESPACE).meta({
    description: 'The namespace of the runtime. Cannot be changed.',
  }),
});

const Runtime = z.strictObject({
  image: z.string().max(512).optional().meta({
    description: 'The image of the runtime; by default the one that the platform is configured with.',
    'x-kubernetes-validations': IMAGE_RULES,
  }),
  port: z.int().min(1).max(65_535).default(DEFAULT_RUNTIME_PORT).meta({ description: 'The gRPC port.' }),
  resources: z
    .strictObject({
      requests: ResourceList.optional().meta({ description: 'What the pod is scheduled with.' }),
      limits: ResourceList.optional().meta({ description: 'What the pod may use at most.' }),
    })
    .optional()
    .meta({
      description: 'CPU and memory of the pod; by default what the platform is configured with.',
      'x-kubernetes-validations': RESOURCES_RULES,
    }),
});

const Config = z.strictObject({
  defaultProvider: DnsLabel.optional().meta({
    description: 'The slug of the language model provider, where an agent names none.',
  }),
  defaultModel: z
    .string()
    .min(1)
    .max(253)
    .optional()
    .meta({ description: 'The id of the model, where an agent names none.' }),
  envSecretRef: z
    .strictObject({
      name: DnsSubdomain.meta({ description: 'The name of the Secret.' }),
    })
    .optional()
    .meta({
      description: 'A Secret in the runtime namespace with sensitive environment variables.',
      'x-kubernetes-map-type': 'atomic',
    }),
});

/** Desired state. */
export const UserSwarmSpec = z
  .strictObject({
    userId: z.string().min(1).max(128).meta({ description: 'The user who owns the workspace. Cannot be changed.' }),
    placement: Placement.prefault({}).meta({ description: 'Where the runtime is. Cannot be changed.' }),
    runtime: Runtime.prefault({}).meta({ description: 'The program that serves the workspace.' }),
    config: Config.prefault({}).meta({ description: 'Settings of the program.' }),
    suspend: z.boolean().default(false).meta({ description: 'Stops the pod and keeps everything else.' }),
  })
  .meta({ description: 'Desired state of the runtime.', 'x-kubernetes-validations': IMMUTABLE_RULES });
/** With the API server's defaults. */
export type UserSwarmSpec = z.output<typeof UserSwarmSpec>;

/** The pattern of condition types in Kubernetes. */
const CONDITION_TYPE = new RegExp(`^(${SUBDOMAIN_PATTERN}/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`);

const ObservedGeneration = z.int().min(0).meta({ description: 'The observed metadata.generation of the UserSwarm.' });

export const Condition = z.strictObject({
  /** An open set: an older CRD must accept types from a newer sync hook. */
  type: z
    .string()
    .min(1)
    .max(316)
    .regex(CONDITION_TYPE)
    .meta({ description: `Condition type: ${CONDITIONS.join(', ')}, or another.` }),
  status: z.enum(['True', 'False', 'Unknown']).meta({ description: 'Status of the condition.' }),
  observedGeneration: ObservedGeneration.optional(),
  /** RFC 3339 in seconds, like API server times. */
  lastTransitionTime: z.string().max(64).meta({ format: 'date-time', description: 'When the status last changed.' }),
  reason: z
    .string()
    .min(1)
    .max(128)
    .regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/)
    .meta({ description: 'One-word cause, for programs.' }),
  message: z.string().max(1024).meta({ description: 'Cause in one sentence, for users.' }),
});
export type Condition = z.output<typeof Condition>;

export const UserSwarmStatus = z
  .strictObject({
    observedGeneration: ObservedGeneration.optional(),
    phase: z
      .enum(PHASES)
      .optional()
      .meta({ description: 'One-word summary of the conditions. Programs read the conditions.' }),
    image: z.string().max(512).optional().meta({ description: 'The image that the runtime is rendered with.' }),
    address: z.string().max(512).optional().meta({ description: 'URL of the gRPC server in the cluster.' }),
    revision: z
      .string()
      .max(64)
      .optional()
      .meta({ description: 'The platform revision of the pod; absent if there is no pod.' }),
    pendingRevision: z.string().max(64).optional().meta({
      description: 'The platform revision that the pod waits for; absent if the pod is up to date.',
    }),
    conditions: z
      .array(Condition)
      .max(16)
      .optional()
      .meta({
        description: 'Conditions of the runtime, one per type.',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['type'],
      }),
  })
  .meta({ description: 'Observed state of the runtime.' });
export type UserSwarmStatus = z.output<typeof UserSwarmStatus>;

export interface UserSwarm {
  apiVersion: typeof USERSWARM_API_VERSION;
  kind: typeof USERSWARM_KIND;
  metadata: ObjectMeta;
  spec: UserSwarmSpec;
  status?: UserSwarmStatus;
}
