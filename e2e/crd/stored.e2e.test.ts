import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Condition, UserSwarm } from '@uswarm/contract/userswarm';
import { connect, rejectionOf, uniqueName, type UserSwarms } from './userswarms.js';

// Unique users, so that the field selector matches only this file's objects.
const [alice, bob] = [uniqueName(), uniqueName()];
const OTHER_NAMESPACE = 'crd-other';

let userSwarms: UserSwarms;
let ofAlice: UserSwarm;
let ofBob: UserSwarm;
beforeAll(async () => {
  userSwarms = await connect();
  ofAlice = await userSwarms.store({ userId: alice });
  ofBob = await userSwarms.store({ userId: bob, placement: { runtimeNamespace: OTHER_NAMESPACE } });
});
afterAll(() => userSwarms.removeStored());

describe('the API of UserSwarms', () => {
  it('CRD-001: serves kind UserSwarm as uswarm.dev/v1alpha1, with the short name and category uswarm', async () => {
    const found = (await userSwarms.discover()).find(({ name }) => name === 'userswarms');
    expect(found).toMatchObject({
      kind: 'UserSwarm',
      singularName: 'userswarm',
      shortNames: ['uswarm'],
      categories: ['uswarm'],
    });
    expect(ofAlice).toMatchObject({ apiVersion: 'uswarm.dev/v1alpha1', kind: 'UserSwarm' });
  });

  it('CRD-002: is cluster-scoped', async () => {
    const found = (await userSwarms.discover()).find(({ name }) => name === 'userswarms');
    expect(found?.namespaced).toBe(false);
    expect(ofAlice.metadata).not.toHaveProperty('namespace');
  });

  it('has a status subresource', async () => {
    expect((await userSwarms.discover()).map(({ name }) => name)).toContain('userswarms/status');
  });

  it('supports a field selector for the user', async () => {
    expect(await userSwarms.select(`spec.userId=${alice}`)).toEqual([ofAlice.metadata.name]);
    expect(await userSwarms.select(`spec.userId=${bob}`)).toEqual([ofBob.metadata.name]);
    expect(await userSwarms.select(`spec.userId=${uniqueName()}`)).toEqual([]);
  });

  it('defines the printer columns, some only for wide output', async () => {
    const { columnDefinitions, rows } = await userSwarms.table(`spec.userId=${bob}`);
    const columns = columnDefinitions.map(({ name, priority }) => `${name} ${priority}`);
    expect(columns).toEqual([
      'Name 0',
      'Phase 0',
      'Ready 0',
      'Reason 0',
      'User 0',
      'Age 0',
      'Image 1',
      'Namespace 1',
      'Message 1',
    ]);
    const cells = Object.fromEntries(columnDefinitions.map(({ name }, index) => [name, rows[0]!.cells[index]]));
    expect(cells).toMatchObject({ Name: ofBob.metadata.name, User: bob, Namespace: OTHER_NAMESPACE });
  });
});

describe('a forbidden change of a UserSwarm', () => {
  it.each<[string, () => UserSwarm, object, string]>([
    ['another user', () => ofAlice, { userId: 'someone-else' }, 'userId'],
    ['another namespace', () => ofAlice, { placement: { runtimeNamespace: OTHER_NAMESPACE } }, 'placement'],
    ['the default namespace instead of another', () => ofBob, { placement: { runtimeNamespace: null } }, 'placement'],
    ['no placement instead of a non-default one', () => ofBob, { placement: null }, 'placement'],
  ])('is rejected with the field: %s', async (_, target, spec, field) => {
    expect(await rejectionOf(userSwarms.tryPatch(target().metadata.name, { spec }))).toMatchObject({
      code: 422,
      causes: [{ field: `spec.${field}`, reason: 'FieldValueForbidden', message: `${field} cannot be changed` }],
    });
  });

  it('is rejected with both fields if both change', async () => {
    const patch = { spec: { userId: 'someone-else', placement: { runtimeNamespace: OTHER_NAMESPACE } } };
    const { causes } = await rejectionOf(userSwarms.tryPatch(ofAlice.metadata.name, patch));
    expect(causes.map(({ field }) => field).toSorted()).toEqual(['spec.placement', 'spec.userId']);
  });
});

describe('an allowed change of a UserSwarm', () => {
  it.each<[string, object]>([
    ['mutable fields', { suspend: false, runtime: { image: 'x', port: 1 }, config: { defaultModel: 'm' } }],
    ['an unchanged placement', { placement: { runtimeNamespace: 'userswarms' }, suspend: false }],
  ])('increases the generation: %s', async (_, spec) => {
    const changed = await userSwarms.tryPatch(ofAlice.metadata.name, { spec });
    expect(changed.spec).toMatchObject(spec);
    expect(changed.metadata.generation).toBe(2);
  });

  it('may remove a default placement, which is set again', async () => {
    const { spec } = await userSwarms.tryPatch(ofAlice.metadata.name, { spec: { placement: null } });
    expect(spec.placement).toEqual({ runtimeNamespace: 'userswarms' });
  });
});

describe('the status of a UserSwarm', () => {
  const ready: Condition = {
    type: 'Ready',
    status: 'True',
    observedGeneration: 1,
    lastTransitionTime: '2026-01-02T03:04:05Z',
    reason: 'Available',
    message: '',
  };
  const withReady = (changes: object) => ({ conditions: [{ ...ready, ...changes }] });

  it('is stored unchanged and does not increase the generation', async () => {
    const status = { observedGeneration: 1, phase: 'Ready', image: 'i', address: 'http://a:1', conditions: [ready] };
    const written = await userSwarms.tryPatchStatus(ofAlice.metadata.name, status);
    expect(written.status).toEqual(status);
    expect(written.metadata.generation).toBe(1);
  });

  it.each<[string, object, string, string]>([
    ['phase', { phase: 'Broken' }, 'phase', 'NotSupported'],
    ['status of a condition', withReady({ status: 'Maybe' }), 'conditions[0].status', 'NotSupported'],
    ['reason', withReady({ reason: 'not a word' }), 'conditions[0].reason', 'Invalid'],
    ['long reason', withReady({ reason: 'R'.repeat(129) }), 'conditions[0].reason', 'TooLong'],
    ['long message', withReady({ message: 'm'.repeat(1025) }), 'conditions[0].message', 'TooLong'],
    ['time', withReady({ lastTransitionTime: 'yesterday' }), 'conditions[0].lastTransitionTime', 'TypeInvalid'],
    ['missing reason', withReady({ reason: undefined }), 'conditions[0].reason', 'Required'],
    ['long image', { image: 'i'.repeat(513) }, 'image', 'TooLong'],
    ['long address', { address: 'a'.repeat(513) }, 'address', 'TooLong'],
    ['negative generation', { observedGeneration: -1 }, 'observedGeneration', 'Invalid'],
    ['second entry of a type', { conditions: [ready, ready] }, 'conditions[1]', 'Duplicate'],
  ])('is rejected because of its %s', async (_, status, field, reason) => {
    expect(await rejectionOf(userSwarms.tryPatchStatus(ofAlice.metadata.name, status))).toMatchObject({
      code: 422,
      causes: [{ field: `status.${field}`, reason: `FieldValue${reason}` }],
    });
  });

  it('is rejected with more than 16 conditions', async () => {
    const { causes } = await rejectionOf(
      userSwarms.tryPatchStatus(ofAlice.metadata.name, { conditions: Array.from({ length: 17 }, () => ready) }),
    );
    expect(causes).toContainEqual(expect.objectContaining({ field: 'status.conditions', reason: 'FieldValueTooMany' }));
  });
});
