import { describe, expect, it } from '@jest/globals';
import type { ApiError } from '@uswarm/contract';
import fc from 'fast-check';
import { CLOCK_TOLERANCE_MS, createResumeTokens, RESUME_MS } from './resume-token.js';
import { createResumption } from './resumption.js';
import { credentialHash } from './session-data.js';
import { createSessionRegistry } from './session-registry.js';

/** Gateways whose clocks differ by less than the tolerance. */
const SKEWS = [0, 10_000, -10_000];
const LONGEST_SKEW_MS = 20_000;
const KEY = { id: 'shared', secret: new TextEncoder().encode('shared by all gateways of this test') };
const credential = fc.constantFrom('phone', 'tablet');
const gatewayIndex = fc.nat({ max: SKEWS.length - 1 });
const credentialsOf = (name: string) => ({ 'x-token': `header.${name}.signature` });

type Step =
  | { kind: 'authenticate'; credential: string; gateway: number; expiresInMs: number | null }
  | { kind: 'pass'; ms: number }
  | { kind: 'revoke'; credential: string | null; unseenBy: number }
  | { kind: 'outage'; away: boolean }
  | { kind: 'resume'; token: number; gateway: number; presented: string | undefined };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('authenticate' as const),
        credential,
        gateway: gatewayIndex,
        expiresInMs: fc.option(fc.integer({ min: 1, max: 4 * RESUME_MS })),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('pass' as const),
        ms: fc.oneof(fc.nat({ max: LONGEST_SKEW_MS }), fc.nat({ max: RESUME_MS / 2 })),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('revoke' as const),
        credential: fc.option(credential),
        unseenBy: fc.nat({ max: SKEWS.length }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('outage' as const), away: fc.boolean() }) },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('resume' as const),
        token: fc.nat(),
        gateway: gatewayIndex,
        presented: fc.option(credential, { nil: undefined }),
      }),
    },
  ),
  { maxLength: 40, size: 'max' },
);

/** A token with what is true about its session, by the one real clock. */
interface Issued {
  token: string;
  credential: string;
  confirmedAt: number;
  expiresAt: number | null;
  /** Resumes since the confirmation. Each counts the clock tolerance against the token. */
  hops: number;
}

function createWorld() {
  const world = { time: 0, away: false, asked: 0 };
  /** By credential, the times of revocation that each gateway has seen, and all of them. */
  const revocations: { credential: string | null; at: number; unseenBy: number }[] = [];
  const revokedAfter = (name: string, at: number, gateway?: number): boolean =>
    revocations.some(
      (each) =>
        (each.credential ?? name) === name && each.at >= at && (gateway === undefined || each.unseenBy !== gateway),
    );
  /** Sign-ins make a new credential valid although an older one of that name was revoked. */
  const valid = new Set<string>();
  const gateways = SKEWS.map((skewMs) => {
    // Monotonic clocks have different origins in each process.
    const now = (): number => world.time + 7 * skewMs;
    const sessionRegistry = createSessionRegistry(now);
    const tokens = createResumeTokens([KEY], () => 1_800_000_000_000 + world.time + skewMs);
    const resume = createResumption({
      tokens,
      sessionRegistry,
      now,
      sessionCheck: {
        async confirm({ tokenHash }) {
          if (world.away) return 'unknown';
          return valid.has(String(tokenHash)) ? 'open' : 'ended';
        },
      },
    });
    return { now, sessionRegistry, tokens, resume };
  });
  return { world, revocations, revokedAfter, valid, gateways };
}

async function run(schedule: readonly Step[]): Promise<void> {
  const { world, revocations, revokedAfter, valid, gateways } = createWorld();
  const issued: Issued[] = [];
  for (const step of schedule) {
    if (step.kind === 'pass') world.time += step.ms;
    else if (step.kind === 'outage') world.away = step.away;
    else if (step.kind === 'revoke') {
      revocations.push({ credential: step.credential, at: world.time, unseenBy: step.unseenBy });
      for (const name of step.credential === null ? [...valid] : [step.credential]) valid.delete(name);
      for (const [index, { sessionRegistry }] of gateways.entries())
        if (index !== step.unseenBy)
          sessionRegistry.end({ v: 1, user_id: 'ada', token_hash: step.credential, code: 'logged_out' });
    } else if (step.kind === 'authenticate') {
      if (world.away || revokedAfter(step.credential, 0)) continue;
      valid.add(step.credential);
      const { tokens } = gateways[step.gateway]!;
      const token = tokens.issue({
        userId: 'ada',
        sessionId: 's',
        credentialHash: credentialHash(credentialsOf(step.credential))!,
        tokenHash: step.credential,
        issuedAt: null,
        access: null,
        workspaceIds: [],
        confirmedMsAgo: 0,
        expiresInMs: step.expiresInMs,
      });
      const expiresAt = step.expiresInMs === null ? null : world.time + step.expiresInMs;
      issued.push({ token, credential: step.credential, confirmedAt: world.time, expiresAt, hops: 0 });
    } else if (issued.length > 0) {
      await resume(step, issued[step.token % issued.length]!);
    }
  }

  async function resume(step: Step & { kind: 'resume' }, known: Issued): Promise<void> {
    const { resume: admit, tokens, now } = gateways[step.gateway]!;
    const outcome = await admit(known.token, step.presented === undefined ? {} : credentialsOf(step.presented)).catch(
      (error: ApiError) => error.code,
    );
    const age = world.time - known.confirmedAt;
    const remaining = known.expiresAt === null ? Infinity : known.expiresAt - world.time;
    const foreign = step.presented !== undefined && step.presented !== known.credential;
    const revoked = world.away
      ? revokedAfter(known.credential, known.confirmedAt, step.gateway)
      : !valid.has(known.credential);
    if (typeof outcome === 'string') {
      // A usable token is refused only if it is close to its end, or if a revocation was close to its confirmation.
      const early = (2 + known.hops) * (CLOCK_TOLERANCE_MS + LONGEST_SKEW_MS);
      const wasRevoked = revokedAfter(known.credential, known.confirmedAt - early);
      const usable = age < RESUME_MS - early && remaining > early && !foreign && !wasRevoked;
      expect(usable ? outcome : 'refused').toBe('refused');
      return;
    }
    expect({ foreign, revoked }).toEqual({ foreign: false, revoked: false });
    expect(age).toBeLessThan(RESUME_MS + LONGEST_SKEW_MS);
    expect(remaining).toBeGreaterThan(-LONGEST_SKEW_MS);
    expect(outcome).toMatchObject({ userId: 'ada', sessionId: 's', tokenHash: known.credential, resumed: true });
    const expiresInMs = outcome.expiresAt === null ? null : outcome.expiresAt - now();
    const token = tokens.issue({ ...outcome, confirmedMsAgo: now() - outcome.confirmedAt, expiresInMs });
    // Without a confirmation, the new token is about the same one.
    const unconfirmed = { ...known, token, hops: known.hops + 1 };
    issued.push(world.away ? unconfirmed : { ...unconfirmed, confirmedAt: world.time, hops: 0 });
  }
}

describe('resuming at any of several gateways', () => {
  it('admits the owner of a session that has not ended, and no one else, in any order of events', async () => {
    await fc.assert(fc.asyncProperty(steps, run), { numRuns: 500 });
  });
});
