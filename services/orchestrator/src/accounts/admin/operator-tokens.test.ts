import { describe, expect, it } from '@jest/globals';
import { type AdminRight } from './operator-rights.js';
import { OperatorIssuers, rightsOf } from './operator-tokens.js';

const rule = (claim: string, value: string, ...rights: AdminRight[]) => ({ claim, value, rights });

describe('the rights of an operator', () => {
  it.each<[string, object]>([
    ['a text', { groups: 'sre' }],
    ['a list of texts', { groups: ['staff', 'sre'] }],
  ])('come from a claim that is %s', (_what, claims) => {
    expect(rightsOf([rule('groups', 'sre', 'show')], { ...claims })).toEqual(['show']);
  });

  it('come from the path of a claim, as with the roles of Keycloak', () => {
    const claims = {
      realm_access: { roles: ['offline_access', 'sre'] },
      resource_access: { uswarm: { roles: ['ban'] } },
    };
    expect(rightsOf([rule('realm_access.roles', 'sre', 'show')], claims)).toEqual(['show']);
    expect(rightsOf([rule('resource_access.uswarm.roles', 'ban', 'ban')], claims)).toEqual(['ban']);
  });

  it('come from a claim whose name contains dots', () => {
    const claims = { 'https://example.com/groups': ['sre'] };
    expect(rightsOf([rule('https://example.com/groups', 'sre', 'show')], claims)).toEqual(['show']);
  });

  it('are those of all matching rules, each once', () => {
    const rules = [
      rule('groups', 'sre', 'show', 'requeue'),
      rule('groups', 'support', 'show', 'ban'),
      rule('groups', 'legal', 'legal'),
    ];
    expect(rightsOf(rules, { groups: ['support', 'sre'] })).toEqual(['show', 'requeue', 'ban']);
  });

  it.each<[string, Record<string, unknown>]>([
    ['no claim', {}],
    ['a text that contains the value', { groups: 'sre-readers' }],
    ['the value in other letter case', { groups: ['SRE'] }],
    ['a nested list', { groups: [['sre']] }],
    ['an object with the value as a key', { groups: { sre: true } }],
    ['null', { groups: null }],
    ['a list with other types', { groups: [1, null, { sre: 'sre' }] }],
  ])('are none with %s', (_what, claims) => {
    expect(rightsOf([rule('groups', 'sre', 'show')], claims)).toEqual([]);
  });

  it('do not come from properties that every object has', () => {
    expect(
      rightsOf([rule('constructor.name', 'Object', 'show'), rule('groups.length', '3', 'show')], { groups: 'sre' }),
    ).toEqual([]);
  });
});

describe('the issuers of operators', () => {
  const issuer = { issuer: 'https://login.example.com', audience: 'uswarmctl', rules: [rule('groups', 'sre', 'show')] };

  it('accept an issuer with rules', () => {
    expect(OperatorIssuers.safeParse([issuer]).success).toBe(true);
  });

  it.each<[string, unknown[]]>([
    ['no rules', [{ ...issuer, rules: [] }]],
    ['a rule without rights', [{ ...issuer, rules: [rule('groups', 'sre')] }]],
    ['an unknown right', [{ ...issuer, rules: [{ claim: 'groups', value: 'sre', rights: ['all'] }] }]],
    ['a rule without a value', [{ ...issuer, rules: [{ claim: 'groups', rights: ['show'] }] }]],
    ['no audience', [{ ...issuer, audience: undefined }]],
    ['a misspelled restriction', [{ ...issuer, authorizedParty: ['a'] }]],
    ['one issuer twice', [issuer, { ...issuer, audience: 'other' }]],
    ['a symmetric algorithm', [{ ...issuer, algorithms: ['HS256'] }]],
  ])('are rejected with %s', (_what, issuers) => {
    expect(OperatorIssuers.safeParse(issuers).success).toBe(false);
  });
});
