import { LABEL } from '@uswarm/contract/userswarm';
import { z } from 'zod';
import { canonicalQuantity, parseQuantity } from '../render/quantity.js';

/** Environment that rendering decides on, or that decides what the runtime is; nobody else may set it. */
const OURS = /^(USWARM|SVC)_/;
const RESERVED_LABELS: ReadonlySet<string> = new Set(Object.values(LABEL));

const quantity = z.string().transform((text, context) => {
  if (parseQuantity(text) !== undefined) return canonicalQuantity(text);
  context.addIssue({ code: 'custom', message: 'is not a quantity' });
  return z.NEVER;
});
const quantities = z.record(z.string().min(1), quantity);
const texts = z.record(z.string().min(1), z.string());
/** Parts of a pod that Kubernetes itself checks. */
const untouched = z.record(z.string(), z.unknown());

/** What the operator says of all runtime pods, as the chart writes it. */
export const runtimePods = z.strictObject({
  imagePullSecrets: z.array(z.strictObject({ name: z.string().min(1) })).default([]),
  imagePullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).default('IfNotPresent'),
  nodeSelector: texts.optional(),
  tolerations: z.array(untouched).default([]),
  affinity: untouched.optional(),
  topologySpreadConstraints: z.array(untouched).default([]),
  priorityClassName: z.string().optional(),
  runtimeClassName: z.string().optional(),
  resources: z.strictObject({ requests: quantities.optional(), limits: quantities.optional() }).default({}),
  labels: texts
    .refine((labels) => !Object.keys(labels).some((name) => RESERVED_LABELS.has(name)), 'has a label that is reserved')
    .default({}),
  annotations: texts.default({}),
  extraEnv: z
    .array(
      z.strictObject({
        name: z
          .string()
          .min(1)
          .refine((name) => !OURS.test(name), 'is reserved'),
        value: z.string(),
      }),
    )
    .refine((list) => new Set(list.map(({ name }) => name)).size === list.length, 'names a variable twice')
    .default([]),
});
export type RuntimePods = z.output<typeof runtimePods>;
