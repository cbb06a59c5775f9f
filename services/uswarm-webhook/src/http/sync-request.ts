import type { SyncRequest } from '@uswarm/contract/userswarm';
import { z } from 'zod';

// Validates only the fields that rendering requires; the objects come from an API server.

const texts = z.record(z.string(), z.string());
const metadata = z.looseObject({
  name: z.string().min(1),
  namespace: z.string().optional(),
  uid: z.string().optional(),
  deletionTimestamp: z.string().optional(),
  labels: texts.optional(),
  annotations: texts.optional(),
  ownerReferences: z.array(z.looseObject({ uid: z.string() })).optional(),
});
const objects = z.record(z.string(), z.looseObject({ kind: z.string(), metadata }));

const schema = z.looseObject({
  parent: z.looseObject({
    metadata: metadata.extend({ uid: z.string().min(1), generation: z.int().min(0) }),
    status: z.looseObject({ conditions: z.array(z.looseObject({ type: z.string() })).optional() }).optional(),
  }),
  children: z.looseObject({
    'ServiceAccount.v1': objects,
    'Service.v1': objects,
    'Deployment.apps/v1': objects,
  }),
  related: z.looseObject({
    'Pod.v1': objects.optional(),
    'Namespace.v1': objects.optional(),
    'Event.v1': objects.optional(),
  }),
  finalizing: z.boolean(),
});

/** The unchanged request, or its fault with the path and without values. */
export function readSyncRequest(body: unknown): { request: SyncRequest } | { fault: string } {
  const parsed = schema.safeParse(body);
  // The original body, because the parser's copy drops unknown fields.
  if (parsed.success) return { request: body as SyncRequest };
  const [issue] = parsed.error.issues;
  return { fault: `malformed request at ${issue?.path.join('.') || 'its root'}: ${issue?.message ?? 'invalid'}` };
}
