import { describe, expect, it } from '@jest/globals';
import type { SyncRequest } from '@uswarm/contract/userswarm';
import { checkResponse } from './hook.js';

const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 's', namespace: 'n' } };
const request = (finalizing = false, children: object = {}): SyncRequest =>
  ({
    finalizing,
    children: { 'ServiceAccount.v1': {}, 'Service.v1': {}, 'Deployment.apps/v1': {}, ...children },
  }) as SyncRequest;

describe('checkResponse', () => {
  it('accepts a response that follows the protocol', () => {
    const answer = { status: {}, children: [service], resyncAfterSeconds: 1.5 };
    expect(checkResponse(request(), answer)).toEqual(answer);
    expect(checkResponse(request(true), { status: {}, children: [], finalized: true }).finalized).toBe(true);
  });

  it.each([
    ['no status', { children: [] }],
    ['no children', { status: {} }],
    ['an unknown field', { status: {}, children: [], error: '' }],
    ['a null in a child', { status: {}, children: [{ ...service, spec: { type: null } }] }],
    ['another kind', { status: {}, children: [{ ...service, kind: 'Secret' }] }],
    ['no namespace', { status: {}, children: [{ ...service, metadata: { name: 's' } }] }],
    ['a child twice', { status: {}, children: [service, service] }],
    ['a status in a child', { status: {}, children: [{ ...service, status: {} }] }],
    ['an echoed uid', { status: {}, children: [{ ...service, metadata: { ...service.metadata, uid: 'u' } }] }],
    ['finalized: true although nothing is deleted', { status: {}, children: [], finalized: true }],
  ])('rejects a response with %s', (_what, answer) => {
    expect(() => checkResponse(request(), answer)).toThrow(expect.objectContaining({ name: 'HookFault' }));
  });

  it('rejects finalized: true while a child is present', () => {
    const present = request(true, { 'Service.v1': { 'n/s': service } });
    expect(() => checkResponse(present, { status: {}, children: [], finalized: true })).toThrow('finalized while');
  });
});
