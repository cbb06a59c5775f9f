import { describe, expect, it } from '@jest/globals';
import { KubeError } from '@uswarm/kube-client';
import { ApplyError, classify, ServerBusy, RequeueError } from './failure.js';

const kube = (status: number, reason: string, message: string, details: object = {}): KubeError =>
  new KubeError(status, { reason, message, details });

describe('classifying the error of a write', () => {
  it.each([
    ['QuotaExceeded', kube(403, 'Forbidden', 'deployments.apps "d" is forbidden: exceeded quota: q, requested: …')],
    ['NamespaceMissing', kube(404, 'NotFound', 'namespaces "ns" not found', { kind: 'namespaces' })],
    ['NamespaceMissing', kube(403, 'Forbidden', 'being terminated', { causes: [{ reason: 'NamespaceTerminating' }] })],
    ['Forbidden', kube(403, 'Forbidden', 'User "x" cannot create resource "services"')],
    ['ApplyFailed', kube(422, 'Invalid', 'spec.selector: field is immutable')],
  ])('classifies the error as %s', (reason, error) => {
    const found = classify(error, 'Service s', 'ns');
    expect(found).toBeInstanceOf(ApplyError);
    expect(found).toMatchObject({ reason });
  });

  it.each([
    ['a conflict with another writer', kube(409, 'Conflict', 'the object has been modified')],
    ['a missing object', kube(404, 'NotFound', 'services "s" not found', { kind: 'services' })],
    [
      'an owner kind that admission does not know yet',
      kube(403, 'Forbidden', 'cannot set blockOwnerDeletion in this case because cannot find RESTMapping for …'),
    ],
    [
      'a policy with parameters of a kind that admission does not know yet',
      kube(
        422,
        'Invalid',
        "failed to configure policy: failed to find resource referenced by paramKind: 'uswarm.dev/…'",
      ),
    ],
    [
      'a policy whose parameters are still being read',
      kube(422, 'Invalid', 'failed to configure binding: paramKind kind `…` not yet synced to use for admission'),
    ],
    ['an unreachable API server', new Error('ECONNREFUSED')],
  ])('requeues after %s', (_what, error) => {
    expect(classify(error, 'Service s', 'ns')).toBeInstanceOf(RequeueError);
  });

  it.each([
    [429, 2, 2_000],
    [429, undefined, 0],
    [500, undefined, 0],
    [503, 1, 1_000],
  ])('treats status %s as a busy server', (status, retryAfter, retryAfterMs) => {
    const error = new KubeError(status, { message: 'not now' }, retryAfter);
    const found = classify(error, 'Service s', 'ns');
    expect(found).toBeInstanceOf(ServerBusy);
    expect(found).toMatchObject({ status, retryAfterMs, message: 'Service s: not now' });
  });

  it('returns an already classified error unchanged', () => {
    const conflict = new ApplyError('NameConflict', 'taken');
    expect(classify(conflict, 'Service s', 'ns')).toBe(conflict);
  });

  it('includes the object and the message of the server', () => {
    const error = kube(422, 'Invalid', 'spec.selector: field is immutable');
    expect(classify(error, 'Service s', 'ns').message).toBe('Service s: spec.selector: field is immutable');
  });
});
