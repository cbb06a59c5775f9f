import { describe, expect, it } from '@jest/globals';
import { causeCode } from './cause-code.js';
import { ModelError } from './port.js';

const coded = (code: unknown, cause?: unknown): Error => Object.assign(new Error('failed', { cause }), { code });

describe('causeCode', () => {
  it('returns the innermost system code', () => {
    const tls = coded('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
    const failed = new ModelError('model_unavailable', 'failed', {
      cause: new TypeError('fetch failed', { cause: tls }),
    });
    expect(causeCode(failed)).toBe('UNABLE_TO_VERIFY_LEAF_SIGNATURE');
    expect(causeCode(coded('UND_ERR_SOCKET', coded('ECONNRESET')))).toBe('ECONNRESET');
    expect(causeCode(coded('UND_ERR_SOCKET', new Error('closed')))).toBe('UND_ERR_SOCKET');
  });

  it('ignores codes of providers, numbers and values that are not errors', () => {
    expect(
      causeCode(new ModelError('model_rejected', 'rejected', { cause: coded('invalid_api_key') })),
    ).toBeUndefined();
    expect(causeCode(coded(500, { code: 'ECONNRESET' }))).toBeUndefined();
    expect(causeCode(undefined)).toBeUndefined();
  });

  it('ends if an error is its own cause', () => {
    const error = coded('ECONNRESET');
    error.cause = error;
    expect(causeCode(error)).toBe('ECONNRESET');
  });
});
