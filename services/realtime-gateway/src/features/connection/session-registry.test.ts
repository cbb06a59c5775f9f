import { describe, expect, it } from '@jest/globals';
import type { SessionEnd } from '@uswarm/contract';
import { CLOCK_TOLERANCE_MS, RESUME_MS } from './resume-token.js';
import { createSessionRegistry, type OpenSession } from './session-registry.js';

const HASH = 'a'.repeat(64);
const ended = (user_id: string, token_hash: string | null = null): SessionEnd => ({ v: 1, user_id, token_hash });

function setUp() {
  let time = 1_000;
  const closed: string[] = [];
  const registry = createSessionRegistry(() => time);
  return {
    registry,
    closed,
    pass: (ms: number) => void (time += ms),
    session: (name: string, parts: Partial<OpenSession['data']> = {}): OpenSession => ({
      data: {
        userId: 'ada',
        credentialHash: '',
        expiresAt: null,
        tokenHash: HASH,
        issuedAt: null,
        access: null,
        confirmedAt: time,
        ...parts,
      },
      close: () => void closed.push(name),
    }),
  };
}

describe('the session registry', () => {
  it('closes the sockets of the revoked credential only', () => {
    const { registry, closed, session } = setUp();
    registry.add(session('phone'));
    registry.add(session('same token'));
    registry.add(session('tablet', { tokenHash: 'b'.repeat(64) }));
    registry.add(session('bypass', { tokenHash: null }));
    registry.add(session('other user', { userId: 'bob' }));
    registry.end(ended('ada', HASH));
    expect(closed).toEqual(['phone', 'same token']);
  });

  it('closes all sockets of the user if the revocation names no credential', () => {
    const { registry, closed, session } = setUp();
    registry.add(session('phone'));
    registry.add(session('bypass', { tokenHash: null }));
    registry.add(session('other user', { userId: 'bob' }));
    registry.end(ended('ada'));
    expect(closed).toEqual(['phone', 'bypass']);
  });

  it('leaves the sockets of API tokens open when the user signs out everywhere', () => {
    const { registry, closed, session } = setUp();
    const program = session('program', { access: { scopes: ['read'], workspace_ids: null } });
    registry.add(program);
    registry.add(session('phone'));
    registry.end({ ...ended('ada'), except_api_tokens: true });
    expect({ closed, refused: registry.hasEnded(program.data) }).toEqual({ closed: ['phone'], refused: false });
  });

  it('remembers that a user was banned before signing out everywhere, also for API tokens', () => {
    const { registry, session } = setUp();
    const program = session('program', { access: { scopes: ['read'], workspace_ids: null } });
    registry.end(ended('ada'));
    registry.end({ ...ended('ada'), except_api_tokens: true });
    expect(registry.hasEnded(program.data)).toBe(true);
  });

  it('does not close a socket that was removed before', () => {
    const { registry, closed, session } = setUp();
    const remove = registry.add(session('phone'));
    remove?.();
    remove?.();
    registry.end(ended('ada'));
    expect(closed).toEqual([]);
  });

  it('closes sockets that remove themselves while they are closed', () => {
    const { registry, closed, session } = setUp();
    for (const name of ['one', 'two']) {
      const entry = session(name);
      const remove = registry.add({
        ...entry,
        close() {
          entry.close('session_ended');
          remove?.();
        },
      });
    }
    registry.end(ended('ada'));
    expect(closed).toEqual(['one', 'two']);
  });

  it('refuses a socket that was authenticated before the revocation, and accepts one that was authenticated after it', () => {
    const { registry, session, pass } = setUp();
    const early = session('early');
    pass(5_000);
    registry.end(ended('ada', HASH));
    expect(registry.add(early)).toBeUndefined();
    expect(registry.add({ ...early, data: { ...early.data, tokenHash: 'b'.repeat(64) } })).toBeDefined();
    pass(1);
    expect(registry.add(session('late'))).toBeDefined();
  });

  it('remembers a revocation for as long as a resume token may be older than it', () => {
    const { registry, session, pass } = setUp();
    const { data } = session('old');
    registry.end(ended('ada', HASH));
    pass(RESUME_MS);
    registry.end(ended('bob'));
    expect(registry.hasEnded(data)).toBe(true);
    pass(CLOCK_TOLERANCE_MS);
    registry.end(ended('bob'));
    expect(registry.hasEnded(data)).toBe(false);
  });

  it('closes the sockets of a renewed session for the new credential, and not for the replaced one', () => {
    const { registry, closed, session } = setUp();
    const phone = session('phone');
    registry.add(phone);
    phone.data.tokenHash = 'b'.repeat(64);
    registry.end(ended('ada', HASH));
    expect(closed).toEqual([]);
    registry.end(ended('ada', 'b'.repeat(64)));
    expect(closed).toEqual(['phone']);
  });

  it('passes the code of the revocation on, by default session_ended', () => {
    const { registry, session } = setUp();
    const codes: string[] = [];
    registry.add({ ...session('phone'), close: (code) => void codes.push(code) });
    registry.end({ ...ended('ada'), code: 'user_banned' });
    registry.end(ended('ada'));
    expect(codes).toEqual(['user_banned', 'session_ended']);
  });
});
