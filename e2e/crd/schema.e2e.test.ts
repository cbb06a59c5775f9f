import { beforeAll, describe, expect, it } from '@jest/globals';
import { connect, generatedCrd, rejectionOf, uniqueName, type UserSwarms } from './userswarms.js';

const chars = (count: number): string => 'a'.repeat(count);
const NAME_MESSAGE =
  'must be workspace-<workspace id>, in lower-case letters, digits and hyphens, ending in a letter or digit';
const QUANTITY_MESSAGE = 'must be a quantity that is not negative, such as 500m, 2 or 512Mi';

let userSwarms: UserSwarms;
beforeAll(async () => {
  userSwarms = await connect();
});

const tryUserSwarm = (spec: object) => userSwarms.tryCreate(uniqueName(), { userId: 'user', ...spec });

describe('the installed CRD', () => {
  it('matches the generated file', async () => {
    const { spec } = await userSwarms.installedCrd();
    expect(spec).toMatchObject((await generatedCrd()).spec);
  });

  it('is established and has a structural schema', async () => {
    const { status } = await userSwarms.installedCrd();
    const conditions = Object.fromEntries(status!.conditions.map((condition) => [condition.type, condition.status]));
    expect(conditions).toMatchObject({ Established: 'True', NamesAccepted: 'True' });
    expect(conditions).not.toHaveProperty('NonStructuralSchema');
  });
});

describe('a valid UserSwarm', () => {
  it('requires only a user; the API server sets the defaults', async () => {
    const { spec, status } = await userSwarms.tryCreate(uniqueName(), { userId: 'user' });
    expect(spec).toEqual({
      userId: 'user',
      placement: { runtimeNamespace: 'userswarms' },
      runtime: { port: 42_618 },
      config: {},
      suspend: false,
    });
    expect(status).toBeUndefined();
  });

  it('may set every field up to its limit', async () => {
    const spec = {
      userId: chars(128),
      placement: { runtimeNamespace: chars(63) },
      runtime: {
        image: chars(512),
        port: 65_535,
        resources: { requests: { cpu: '250m', memory: '256Mi' }, limits: { cpu: 2, memory: '1Gi' } },
      },
      config: { defaultProvider: chars(63), defaultModel: chars(253), envSecretRef: { name: chars(253) } },
      suspend: true,
    };
    const created = await userSwarms.tryCreate(`workspace-${chars(39)}`, spec);
    expect(created.spec).toEqual(spec);
  });

  it.each([
    ['equal', { requests: { cpu: 2, memory: '1Gi' }, limits: { cpu: '2000m', memory: '1024Mi' } }],
    ['zero', { requests: { cpu: '0', memory: 0 } }],
    ['of one kind only', { requests: { cpu: '4' }, limits: { memory: '1Mi' } }],
    ['with exponents', { limits: { cpu: '1e-1', memory: '1e9' } }],
  ])('may set resource requests and limits that are %s', async (_, resources) => {
    expect((await tryUserSwarm({ runtime: { resources } })).spec.runtime.resources).toEqual(resources);
  });

  it('loses unknown fields if the client disables strict validation', async () => {
    const spec = { userId: 'user', nickname: 'x', runtime: { resources: { requests: { 'nvidia.com/gpu': '1' } } } };
    const { spec: created } = await userSwarms.tryCreate(uniqueName(), spec, 'Ignore');
    expect(created).not.toHaveProperty('nickname');
    expect(created.runtime.resources).toEqual({ requests: {} });
  });
});

describe('a UserSwarm with an invalid name', () => {
  it.each([
    ['without the prefix', 'tenant-1', NAME_MESSAGE],
    ['with a dot', 'workspace-a.b', NAME_MESSAGE],
    ['beginning with a hyphen after the prefix', 'workspace--a', NAME_MESSAGE],
    ['of 50 characters', `workspace-${chars(40)}`, 'must have at most 49 characters'],
  ])('is rejected: %s', async (_, name, message) => {
    expect(await rejectionOf(userSwarms.tryCreate(name, { userId: 'user' }))).toMatchObject({
      code: 422,
      causes: [{ field: 'metadata.name', reason: 'FieldValueInvalid', message }],
    });
  });
});

describe('a UserSwarm with an invalid spec', () => {
  it.each<[string, object, string, string, string]>([
    ['no user', { userId: undefined }, 'userId', 'Required', ''],
    ['an empty user', { userId: '' }, 'userId', 'Invalid', 'in body should be at least 1 chars long'],
    ['a long user', { userId: chars(129) }, 'userId', 'TooLong', 'may not be more than 128 bytes'],
    ['port 0', { runtime: { port: 0 } }, 'runtime.port', 'Invalid', 'in body should be greater than or equal to 1'],
    [
      'port 65536',
      { runtime: { port: 65_536 } },
      'runtime.port',
      'Invalid',
      'in body should be less than or equal to 65535',
    ],
    [
      'a port as text',
      { runtime: { port: '80' } },
      'runtime.port',
      'TypeInvalid',
      'in body must be of type integer: "string"',
    ],
    ['a long image', { runtime: { image: chars(513) } }, 'runtime.image', 'TooLong', 'may not be more than 512 bytes'],
    ...['localhost/x y', 'localhost/X', 'localhost/x:', 'localhost/x\n', '//'].map(
      (image): [string, object, string, string, string] => [
        `an image that is not a reference (${JSON.stringify(image)})`,
        { runtime: { image } },
        'runtime.image',
        'Invalid',
        'must be an image reference',
      ],
    ),
    [
      'a suspend that is not a boolean',
      { suspend: 'yes' },
      'suspend',
      'TypeInvalid',
      'in body must be of type boolean: "string"',
    ],
    [
      'a long model',
      { config: { defaultModel: chars(254) } },
      'config.defaultModel',
      'TooLong',
      'may not be more than 253 bytes',
    ],
    ['a nameless Secret', { config: { envSecretRef: {} } }, 'config.envSecretRef.name', 'Required', ''],
  ])('is rejected: %s', async (_, spec, field, reason, message) => {
    const { code, causes } = await rejectionOf(tryUserSwarm(spec));
    expect(code).toBe(422);
    expect(causes).toEqual([
      { field: `spec.${field}`, reason: `FieldValue${reason}`, message: expect.stringContaining(message) },
    ]);
  });

  it.each<[string, object, string]>([
    ['a namespace', { placement: { runtimeNamespace: 'Upper' } }, 'placement.runtimeNamespace'],
    ['a provider', { config: { defaultProvider: 'open ai' } }, 'config.defaultProvider'],
    ['a Secret', { config: { envSecretRef: { name: 'a_b' } } }, 'config.envSecretRef.name'],
  ])('is rejected: %s with an invalid name', async (_, spec, field) => {
    const { causes } = await rejectionOf(tryUserSwarm(spec));
    expect(causes).toEqual([
      { field: `spec.${field}`, reason: 'FieldValueInvalid', message: expect.stringContaining('in body should match') },
    ]);
  });

  it.each(['requests', 'limits'].flatMap((list) => ['cpu', 'memory'].map((name) => [list, name] as const)))(
    'is rejected: resource %s of %s that are negative or not a quantity',
    async (list, name) => {
      for (const value of ['lots', '1 Gi', '0.5cores', '-1', -1]) {
        const { causes } = await rejectionOf(tryUserSwarm({ runtime: { resources: { [list]: { [name]: value } } } }));
        const field = `spec.runtime.resources.${list}.${name}`;
        expect({ value, causes }).toEqual({
          value,
          causes: [{ field, reason: 'FieldValueInvalid', message: QUANTITY_MESSAGE }],
        });
      }
    },
  );

  it('is rejected: requests above the limits', async () => {
    const resources = { requests: { cpu: '2', memory: '1Gi' }, limits: { cpu: '1999m', memory: '1023Mi' } };
    const { causes } = await rejectionOf(tryUserSwarm({ runtime: { resources } }));
    expect(causes).toEqual(
      ['cpu', 'memory'].map((name) => ({
        field: `spec.runtime.resources.requests.${name}`,
        reason: 'FieldValueInvalid',
        message: `the request of ${name} must not be above its limit`,
      })),
    );
  });

  it('is rejected: an unknown field with the strict validation of kubectl', async () => {
    expect(await rejectionOf(tryUserSwarm({ nickname: 'x' }))).toMatchObject({
      code: 400,
      message: expect.stringContaining('strict decoding error: unknown field "spec.nickname"'),
    });
  });

  it('is rejected: no spec', async () => {
    expect(await rejectionOf(userSwarms.tryCreate(uniqueName(), undefined))).toMatchObject({
      code: 422,
      causes: [{ field: 'spec', reason: 'FieldValueRequired' }],
    });
  });
});
