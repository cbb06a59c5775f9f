import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createManualTimers } from '../../../test/manual-timers.js';
import { DEFAULT_SETTINGS } from '../../settings.js';
import type { Timers } from '../../timers.js';
import type { SessionData } from './session-data.js';
import { createSessionLifetime, type SessionLifetimeDeps } from './session-lifetime.js';

const NOW = 1_000;

/** A session that expires after `remainingMs`. */
const deps = (remainingMs: number): Omit<SessionLifetimeDeps, 'timers'> => ({
  data: { expiresAt: NOW + remainingMs, confirmedAt: NOW } as SessionData,
  workspaces: { list: () => [] },
  tokens: { issue: () => 'token' },
  emit: () => undefined,
  end: () => undefined,
  settings: DEFAULT_SETTINGS,
  now: () => NOW,
});

/** @returns the timer delays in a session that expires after `remainingMs` */
function delaysOf(remainingMs: number): { expiry: number; refresh: number } {
  const delays: number[] = [];
  const timers: Timers = {
    after(ms) {
      delays.push(ms);
      return () => undefined;
    },
  };
  createSessionLifetime({ ...deps(remainingMs), timers }).start();
  const [expiry = Number.NaN, refresh = Number.NaN] = delays;
  return { expiry, refresh };
}

describe('the timers of a session', () => {
  it('do not begin again when the session has ended', () => {
    const timers = createManualTimers();
    const sent: string[] = [];
    const lifetime = createSessionLifetime({
      ...deps(60_000),
      timers,
      emit: (event) => void sent.push(event),
    });
    lifetime.start();
    lifetime.stop();
    // The credential was being renewed.
    lifetime.start();
    lifetime.workspacesChanged();
    expect({ pending: timers.pending(), sent }).toEqual({ pending: 0, sent: ['session.ready'] });
  });

  it('share durations of whole seconds, and never fire after the time that was asked for', () => {
    fc.assert(
      fc.property(fc.double({ min: 120_000, max: 86_400_000, noNaN: true }), (remainingMs) => {
        const { expiry, refresh } = delaysOf(remainingMs);
        expect([expiry % 1_000, refresh % 1_000]).toEqual([0, 0]);
        expect(expiry).toBeLessThanOrEqual(remainingMs - 60_000);
        expect(expiry).toBeGreaterThan(remainingMs - 61_000);
        expect(refresh).toBeLessThanOrEqual(DEFAULT_SETTINGS.resumeTokenMs);
      }),
    );
  });

  it('are exact for a session that expires soon', () => {
    expect(delaysOf(1_500.5).expiry).toBe(750.25);
  });
});
