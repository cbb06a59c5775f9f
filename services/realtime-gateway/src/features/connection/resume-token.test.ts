import { createHmac, hkdfSync } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { SigningKey } from '@uswarm/service-kit';
import fc from 'fast-check';
import { CLOCK_TOLERANCE_MS, createResumeTokens, RESUME_MS, type ResumeClaims } from './resume-token.js';

const key = (name: string): SigningKey => ({ id: name, secret: new TextEncoder().encode(name.padEnd(32, '-')) });
const KEY = key('shared');
const START = 1_800_000_000_000;

const claims = fc.record({
  userId: fc.uuid(),
  sessionId: fc.uuid(),
  credentialHash: fc.string(),
  tokenHash: fc.option(fc.string()),
  issuedAt: fc.option(fc.constant('2026-11-24T15:00:00.000Z')),
  access: fc.option(
    fc.record({
      scopes: fc.array(fc.constantFrom('read', 'write')),
      workspace_ids: fc.option(fc.array(fc.uuid(), { maxLength: 3 })),
    }),
  ),
  workspaceIds: fc.array(fc.uuid(), { maxLength: 20 }),
  confirmedMsAgo: fc.integer({ min: 0, max: RESUME_MS - 1 }),
  expiresInMs: fc.option(fc.integer({ min: 1, max: 1_000 * RESUME_MS })),
});
const SAMPLE: ResumeClaims = {
  userId: 'ada',
  sessionId: 's',
  credentialHash: 'c',
  tokenHash: null,
  issuedAt: null,
  access: null,
  workspaceIds: [],
  confirmedMsAgo: 0,
  expiresInMs: null,
};

/** The result of another gateway whose clock differs by `skewMs`, after `passedMs`. */
function verified(issued: ResumeClaims, passedMs: number, skewMs = 0): ResumeClaims | string {
  const token = createResumeTokens([KEY], () => START).issue(issued);
  return codeOf(() => createResumeTokens([KEY], () => START + passedMs + skewMs).verify(token));
}

function codeOf<Result>(attempt: () => Result): Result | string {
  try {
    return attempt();
  } catch (error) {
    return (error as { code: string }).code;
  }
}

describe('a resume token', () => {
  it('states at another gateway what was issued, with durations that count on', () => {
    fc.assert(
      fc.property(claims, fc.nat({ max: 2 * RESUME_MS }), (issued, passedMs) => {
        const confirmedMsAgo = issued.confirmedMsAgo + passedMs;
        const expiresInMs = issued.expiresInMs === null ? null : issued.expiresInMs - passedMs;
        const expired = confirmedMsAgo >= RESUME_MS || (expiresInMs !== null && expiresInMs <= 0);
        expect(verified(issued, passedMs)).toEqual(
          expired ? 'resume_token_expired' : { ...issued, confirmedMsAgo, expiresInMs },
        );
      }),
    );
  });

  it('is never valid for longer than 10 minutes after the confirmation plus the difference of the clocks', () => {
    const skew = fc.integer({ min: -10 * CLOCK_TOLERANCE_MS, max: 10 * CLOCK_TOLERANCE_MS });
    fc.assert(
      fc.property(claims, fc.nat({ max: 2 * RESUME_MS }), skew, (issued, passedMs, skewMs) => {
        fc.pre(typeof verified(issued, passedMs, skewMs) === 'object');
        const behindMs = Math.max(0, -skewMs);
        expect(issued.confirmedMsAgo + passedMs).toBeLessThan(RESUME_MS + behindMs);
        expect(passedMs).toBeLessThan((issued.expiresInMs ?? Infinity) + behindMs);
        // A gateway whose clock is far behind refuses new tokens.
        expect(passedMs + CLOCK_TOLERANCE_MS).toBeGreaterThanOrEqual(behindMs);
      }),
    );
  });

  it('is refused if any character differs', () => {
    const tokens = createResumeTokens([KEY], () => START);
    const characters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.'];
    fc.assert(
      fc.property(claims, fc.nat(), fc.constantFrom(...characters), (issued, at, character) => {
        const token = tokens.issue(issued);
        const position = at % (token.length - 1);
        fc.pre(token[position] !== character);
        const forged = `${token.slice(0, position)}${character}${token.slice(position + 1)}`;
        expect(codeOf(() => tokens.verify(forged))).toBe('resume_token_invalid');
      }),
    );
  });

  it('is refused if it is arbitrary text', () => {
    const tokens = createResumeTokens([KEY]);
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String(), fc.string({ minLength: 5_000 })), (text) => {
        expect(codeOf(() => tokens.verify(text))).toBe('resume_token_invalid');
      }),
    );
  });

  it('is accepted with a previous key during a rotation, and refused after it', () => {
    const token = createResumeTokens([key('old'), key('new')]).issue(SAMPLE);
    expect(createResumeTokens([key('new'), key('old')]).verify(token)).toMatchObject({ userId: 'ada' });
    expect(codeOf(() => createResumeTokens([key('new')]).verify(token))).toBe('resume_token_invalid');
  });

  it('has another signature for an API token, so that earlier releases, which ignore its limits, refuse it', () => {
    const access = { scopes: ['read'], workspace_ids: null };
    const [body = '', signature = ''] = createResumeTokens([KEY])
      .issue({ ...SAMPLE, access })
      .split('.');
    const keyOfEarlierReleases = Buffer.from(hkdfSync('sha256', KEY.secret, '', 'uswarm resume token', 32));
    const [other = '', known] = createResumeTokens([KEY]).issue(SAMPLE).split('.');
    const signed = (text: string) => createHmac('sha256', keyOfEarlierReleases).update(text).digest('base64url');
    expect({ accepted: signed(other) === known, ofApiToken: signed(body) === signature }).toEqual({
      accepted: true,
      ofApiToken: false,
    });
  });

  it('is not signed with the key of the internal API itself', () => {
    const [body = '', signature] = createResumeTokens([KEY]).issue(SAMPLE).split('.');
    expect(signature).not.toBe(createHmac('sha256', KEY.secret).update(body).digest('base64url'));
  });

  it('is refused if a gateway of another release signed a form that this one does not know', () => {
    const tokens = createResumeTokens([KEY]);
    const token = tokens.issue({ ...SAMPLE, workspaceIds: [7 as never] });
    expect(codeOf(() => tokens.verify(token))).toBe('resume_token_invalid');
  });
});
