import { canonicalQuantity, DnsSubdomain, LABEL, parseQuantity } from '@uswarm/contract/userswarm';
import { z } from 'zod';

/** Environment variables that are reserved for rendering. */
const OURS = /^(USWARM|SVC)_/;
const RESERVED_LABELS: ReadonlySet<string> = new Set(Object.values(LABEL));

/** YAML without quotes, and `helm --set`, have numbers. */
const quantity = z.union([z.string(), z.number().transform(String)]).transform((text, context) => {
  if (parseQuantity(text) !== undefined) return canonicalQuantity(text);
  context.addIssue({ code: 'custom', message: 'is not a quantity' });
  return z.NEVER;
});
const quantities = z.record(z.string().min(1), quantity);
const texts = z.record(z.string().min(1), z.string());
/** Pod parts that only Kubernetes validates. */
const untouched = z.record(z.string(), z.unknown());

const fileName = z.string().regex(/^[-._a-zA-Z0-9]{1,253}$/);
/** A URL without credentials, which would be readable in every pod. */
const proxyUrl = z.url({ protocol: /^https?$/ }).refine((url) => !url.includes('@'), 'must not contain credentials');

/** The operator's settings of all runtime pods, written by the chart. */
export const runtimePods = z.strictObject({
  imagePullSecrets: z.array(z.strictObject({ name: z.string().min(1) })).default([]),
  imagePullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).default('IfNotPresent'),
  nodeSelector: texts.optional(),
  tolerations: z.array(untouched).default([]),
  affinity: untouched.optional(),
  topologySpreadConstraints: z.array(untouched).default([]),
  priorityClassName: z.string().optional(),
  runtimeClassName: z.string().optional(),
  /** `false` gives each pod a separate user namespace. The API server does not store `true`. */
  hostUsers: z.literal(false).optional(),
  resources: z.strictObject({ requests: quantities.optional(), limits: quantities.optional() }).default({}),
  /** Termination grace period in seconds. */
  terminationGracePeriodSeconds: z.int().min(2).max(3600).default(5),
  /** A ConfigMap in the runtime namespace with additional trusted certificates. */
  trustedCA: z.strictObject({ configMap: DnsSubdomain, key: fileName }).optional(),
  /** `noProxy` is a comma-separated list as in NO_PROXY. */
  proxy: z.strictObject({ https: proxyUrl.optional(), http: proxyUrl.optional(), noProxy: z.string() }).optional(),
  /** Services that runtimes with the model gateway need, which then resolve no names. If empty, they use DNS. */
  hostAliases: z
    .array(z.strictObject({ ip: z.union([z.ipv4(), z.ipv6()]), hostnames: z.array(DnsSubdomain).min(1) }))
    .default([]),
  /** Revision of the Secrets that runtimes read at start; a change rolls the runtimes out. */
  secretRevision: z
    .string()
    .regex(/^[-._a-zA-Z0-9]{1,63}$/)
    .optional(),
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
