import { describe, expect, it } from '@jest/globals';
import { age, audit, legalVersions, turns, user } from './show.js';

describe('the text output of uswarmctl', () => {
  it.each([
    [0, '0s'],
    [48.4, '48s'],
    [90, '2m'],
    [300, '5m'],
    [3 * 3_600, '3h'],
    [47 * 3_600, '47h'],
    [48 * 3_600, '2d'],
  ])('formats an age of %d s as %s', (seconds, shown) => {
    expect(age(seconds)).toBe(shown);
  });

  it('removes control characters from text of users', () => {
    const shown = user({
      id: 'i',
      email: 'a@example.com',
      name: '\u001b[2Jevil\u202e\nname',
      issuer: 'test',
      idp_uid: 'u',
      is_banned: true,
      plan: 'free',
      plan_expires_at: null,
      accepted_terms_of_service: '1',
      accepted_privacy_policy: null,
      created_at: '2026-11-21T10:00:00.000Z',
      usage: { period: '2026-11', tokens_used: 1_234, token_limit: 1_000_000, request_count: 2 },
      workspaces: [],
      devices: [
        {
          info: 'x\u0007y',
          app_version: '',
          timezone: '',
          has_push_token: true,
          last_seen_at: '2026-11-21T10:00:00.000Z',
        },
      ],
    });
    expect(shown).toContain('  name        [2Jevilname\n');
    expect(shown).toContain('  usage       1,234 of 1,000,000 tokens in 2026-11, 2 model calls\n');
    expect(shown).toContain('  device      xy, app -, -, with push token, last seen 2026-11-21T10:00:00.000Z');
    expect(shown.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  it('aligns the columns of a table', () => {
    const turn = {
      workspace_id: 'w',
      conversation_id: 'c',
      generation: 1,
      leased: false,
      failures: 0,
      trace_id: null,
    } as const;
    expect(
      turns([
        { ...turn, id: 'one', status: 'queued', age_s: 30, error_code: null },
        { ...turn, id: 'another', status: 'failed', age_s: 7_200, error_code: 'runtime_lost', leased: true },
      ]),
    ).toBe(
      [
        'TURN     AGE  STATUS  LEASED  GENERATION  FAILURES  ERROR         WORKSPACE  TRACE',
        'one      30s  queued  no      1           0         -             w          -',
        'another  2h   failed  yes     1           0         runtime_lost  w          -',
      ].join('\n'),
    );
  });

  it('prints an empty list as "No results."', () => {
    expect({ turns: turns([]), audit: audit([]) }).toEqual({ turns: 'No results.', audit: 'No results.' });
  });

  it('marks the current version of each document', () => {
    const published_at = '2026-11-21T10:00:00.000Z';
    const shown = legalVersions([
      { document: 'privacy_policy', version: '2', published_at },
      { document: 'privacy_policy', version: '1', published_at },
      { document: 'terms_of_service', version: '1', published_at },
    ]).split('\n');
    expect(shown.map((line) => line.endsWith('current'))).toEqual([false, true, false, true]);
  });
});
