import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { createAdmission } from './admission.js';

const from = (origin?: string): IncomingMessage =>
  ({ headers: { origin, host: 'api.test' } }) as unknown as IncomingMessage;
const open = {
  corsOrigins: [],
  accepting: () => true,
  overloaded: () => false,
  full: () => false,
  admit: () => true,
};

describe('admission', () => {
  it('accepts every origin without a list of origins', () => {
    expect(createAdmission(open)(from('https://anywhere.test'))).toBeUndefined();
  });

  it('accepts the listed origins and requests without an Origin header', () => {
    const admission = createAdmission({ ...open, corsOrigins: ['https://app.test'] });
    expect(admission(from('https://app.test'))).toBeUndefined();
    expect(admission(from())).toBeUndefined();
    expect(admission(from('https://app.test.evil.test'))).toBe('origin');
    expect(admission(from('null'))).toBe('origin');
    expect(admission(from('https://api.test'))).toBeUndefined();
    expect(createAdmission({ ...open, corsOrigins: ['*'] })(from('https://anywhere.test'))).toBeUndefined();
  });

  it('refuses a connection that the host application does not admit', () => {
    expect(createAdmission({ ...open, admit: () => false })(from())).toBe('not_admitted');
  });

  it('refuses connections during a shutdown', () => {
    expect(createAdmission({ ...open, accepting: () => false })(from())).toBe('shutting_down');
  });

  it('refuses new connections while too many handshakes wait', () => {
    expect(createAdmission({ ...open, overloaded: () => true })(from())).toBe('overloaded');
  });

  it('refuses an address that has too many connections', () => {
    expect(createAdmission({ ...open, full: () => true })(from())).toBe('address');
  });
});
