import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Condition, UserSwarm } from '@uswarm/contract/userswarm';
import { connect, refusalOf, uniqueName, type UserSwarms } from './userswarms.js';

// Users of this file alone, so that selecting by user finds nothing else.
const [alice, bob] = [uniqueName(), uniqueName()];
const ELSEWHERE = 'crd-elsewhere';

let userSwarms: UserSwarms;
let ofAlice: UserSwarm;
let ofBob: UserSwarm;
beforeAll(async () => {
  userSwarms = await connect();
  ofAlice = await userSwarms.store({ userId: alice });
  ofBob = await userSwarms.store({ userId: bob, placement: { runtimeNamespace: ELSEWHERE } });
});
afterAll(() => userSwarms.removeStored());

describe('the API', () => {
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

  it('CRD-002: has UserSwarms in no namespace', async () => {
    const found = (await userSwarms.discover()).find(({ name }) => name === 'userswarms');
    expect(found?.namespaced).toBe(false);
    expect(ofAlice.metadata).not.toHaveProperty('namespace');
  });

  it('has a status subresource', async () => {
    expect((await userSwarms.discover()).map(({ name }) => name)).toContain('userswarms/status');
  });

  it('finds the UserSwarms of a user by a field selector', async () => {
    expect(await userSwarms.select(`spec.userId=${alice}`)).toEqual([ofAlice.metadata.name]);
    expect(await userSwarms.select(`spec.userId=${bob}`)).toEqual([ofBob.metadata.name]);
    expect(await userSwarms.select(`spec.userId=${uniqueName()}`)).toEqual([]);
  });

  it('shows them in columns, with more of them when asked for', async () => {
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
    expect(cells).toMatchObject({ Name: ofBob.metadata.name, User: bob, Namespace: ELSEWHERE });
  });
});

describe('a change that is refused', () => {
  it.each<[string, () => UserSwarm, object, string]>([
    ['of the user', () => ofAlice, { userId: 'someone-else' }, 'userId'],
    ['of the namespace', () => ofAlice, { placement: { runtimeNamespace: ELSEWHERE } }, 'placement'],
    ['back to the default namespace', () => ofBob, { placement: { runtimeNamespace: null } }, 'placement'],
    ['that leaves the placement out', () => ofBob, { placement: null }, 'placement'],
  ])('%s', async (_, target, spec, field) => {
    expect(await refusalOf(userSwarms.tryPatch(target().metadata.name, { spec }))).toMatchObject({
      code: 422,
      causes: [{ field: `spec.${field}`, reason: 'FieldValueForbidden', message: `${field} cannot be changed` }],
    });
  });

  it('of both fields names both', async () => {
    const patch = { spec: { userId: 'someone-else', placement: { runtimeNamespace: ELSEWHERE } } };
    const { causes } = await refusalOf(userSwarms.tryPatch(ofAlice.metadata.name, patch));
    expect(causes.map(({ field }) => field).toSorted()).toEqual(['spec.placement', 'spec.userId']);
  });
});

describe('a change that is taken', () => {
  it.each<[string, object]>([
    ['of what may change', { suspend: false, runtime: { image: 'x', port: 1 }, config: { defaultModel: 'm' } }],
    ['that names the placement it has', { placement: { runtimeNamespace: 'userswarms' }, suspend: false }],
  ])('%s, and counts as a new generation', async (_, spec) => {
    const changed = await userSwarms.tryPatch(ofAlice.metadata.name, { spec });
    expect(changed.spec).toMatchObject(spec);
    expect(changed.metadata.generation).toBe(2);
  });

  it('to leave the placement out when it is the default', async () => {
    const { spec } = await userSwarms.tryPatch(ofAlice.metadata.name, { spec: { placement: null } });
    expect(spec.placement).toEqual({ runtimeNamespace: 'userswarms' });
  });
});

describe('the status', () => {
  const ready: Condition = {
    type: 'Ready',
    status: 'True',
    observedGeneration: 1,
    lastTransitionTime: '2026-01-02T03:04:05Z',
    reason: 'Available',
    message: '',
  };
  const withReady = (changes: object) => ({ conditions: [{ ...ready, ...changes }] });

  it('is taken as it is, and changes no generation', async () => {
    const status = { observedGeneration: 1, phase: 'Ready', image: 'i', address: 'http://a:1', conditions: [ready] };
    const written = await userSwarms.tryPatchStatus(ofAlice.metadata.name, status);
    expect(written.status).toEqual(status);
    expect(written.metadata.generation).toBe(1);
  });

  it.each<[string, object, string, string]>([
    ['phase', { phase: 'Broken' }, 'phase', 'NotSupported'],
    ['status of a condition', withReady({ status: 'Maybe' }), 'conditions[0].status', 'NotSupported'],
    ['reason', withReady({ reason: 'not a word' }), 'conditions[0].reason', 'Invalid'],
    ['reason for its length', withReady({ reason: 'R'.repeat(129) }), 'conditions[0].reason', 'TooLong'],
    ['message for its length', withReady({ message: 'm'.repeat(1025) }), 'conditions[0].message', 'TooLong'],
    ['time', withReady({ lastTransitionTime: 'yesterday' }), 'conditions[0].lastTransitionTime', 'TypeInvalid'],
    ['missing reason', withReady({ reason: undefined }), 'conditions[0].reason', 'Required'],
    ['image for its length', { image: 'i'.repeat(513) }, 'image', 'TooLong'],
    ['address for its length', { address: 'a'.repeat(513) }, 'address', 'TooLong'],
    ['negative generation', { observedGeneration: -1 }, 'observedGeneration', 'Invalid'],
    ['second entry of a type', { conditions: [ready, ready] }, 'conditions[1]', 'Duplicate'],
  ])('is refused for its %s', async (_, status, field, reason) => {
    expect(await refusalOf(userSwarms.tryPatchStatus(ofAlice.metadata.name, status))).toMatchObject({
      code: 422,
      causes: [{ field: `status.${field}`, reason: `FieldValue${reason}` }],
    });
  });

  it('is refused with more conditions than fit', async () => {
    const { causes } = await refusalOf(
      userSwarms.tryPatchStatus(ofAlice.metadata.name, { conditions: Array.from({ length: 17 }, () => ready) }),
    );
    expect(causes).toContainEqual(expect.objectContaining({ field: 'status.conditions', reason: 'FieldValueTooMany' }));
  });
});
