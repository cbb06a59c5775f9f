import type { oas31 } from 'zod-openapi';
import { type ErrorBody, ERRORS, type ErrorCode } from '../errors.js';

const REQUEST_ID = '0b9f7c52-6a44-4f9c-9d1c-0c6b7a0f3d11';

/** The fields that codes add to `extra`. */
const EXTRAS: Partial<Record<ErrorCode, Record<string, unknown>>> = {
  validation_failed: { fields: [{ path: 'content.text', message: 'must not be empty' }] },
  token_limit_reached: { scope: 'workspace', token_limit: 1_000_000, resets_at: '2026-12-01T00:00:00.000Z' },
  resync_required: { last_seq: 72, epoch: '5f0c6e1b9a2d4c37' },
  range_not_satisfiable: { size: 48_213 },
  rate_limited: { limit: 'user', retry_after_ms: 1_200 },
  export_limit_reached: { retry_after_ms: 2_400_000 },
  import_in_progress: { import_id: '01931a5e-7c00-7000-8000-000000000001' },
  sign_up_limit_reached: { retry_after_ms: 43_200_000 },
  trigger_queue_full: { retry_after_ms: 30_000 },
  turn_queue_full: { retry_after_ms: 5_000 },
  search_timeout: { retry_after_ms: 2_000 },
  service_unavailable: { retry_after_ms: 1_000 },
  integration_exchange_failed: { provider_error: 'invalid_grant' },
  integration_permissions_missing: { missing_permissions: ['https://www.googleapis.com/auth/calendar.events'] },
};

function errorExample(code: ErrorCode): ErrorBody {
  return { message: ERRORS[code].message, code, extra: { ...EXTRAS[code], request_id: REQUEST_ID } };
}

/** The body of each error, by code. Responses refer to them. */
export function errorExamples(): Record<string, oas31.ExampleObject> {
  const codes = Object.keys(ERRORS) as ErrorCode[];
  return Object.fromEntries(codes.map((code) => [code, { summary: ERRORS[code].message, value: errorExample(code) }]));
}
