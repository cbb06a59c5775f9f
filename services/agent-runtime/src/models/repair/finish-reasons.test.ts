import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createStepAssembler } from '../step-assembler.js';
import { finishKind, isFinishReason } from './finish-reasons.js';

/** The end of a step whose text has this finish reason. */
function endOf(raw: string) {
  const assembler = createStepAssembler([]);
  assembler.add({ type: 'text-start', id: '0' });
  assembler.add({ type: 'text-delta', id: '0', delta: 'Half an ans' });
  assembler.add({ type: 'text-end', id: '0' });
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  assembler.add({ type: 'finish', usage, finishReason: { raw, unified: 'other' } });
  return assembler.end()?.finish;
}

describe('a finish reason', () => {
  it.each([
    ['complete', ['stop', 'STOP', 'end_turn', 'eos', 'eos_token', 'stop_sequence', 'COMPLETE', 'eosFound', 'Stop']],
    ['calls', ['tool_calls', 'tool_use', 'TOOL_CALL', 'function_call', 'toolCalls']],
    [
      'cut',
      [
        'length',
        'max_tokens',
        'MAX_TOKENS',
        'max-tokens',
        'max_output_tokens',
        'model_length',
        'maxPredictedTokensReached',
      ],
    ],
    ['cut', ['model_context_window_exceeded', 'contextLengthReached', 'FINISH_REASON_MAX_TOKENS', 'max_new_tokens']],
    ['failed', ['error', 'ERROR', 'network_error', 'insufficient_system_resource', 'abort', 'malformed_tool_use']],
    ['failed', ['MALFORMED_FUNCTION_CALL', 'Malformed Function Call', 'cancelled', 'UNEXPECTED_TOOL_CALL']],
    ['refused', ['content_filter', 'content-filter', 'SAFETY', 'RECITATION', 'refusal', 'guardrail_intervened']],
    ['complete', ['stopped', 'stop_sequences', 'stop_words', 'eos_token_id', 'end_id', 'matched_stop']],
    ['cut', ['token_limit_exceeded', 'max_seq_len', 'context_full', 'truncation', 'timed_out', 'budget_reached']],
    ['failed', ['rate_limit', 'backend_error', 'disconnected', 'out_of_memory', 'preempted', 'gateway_timeout']],
    ['refused', ['risk_control', 'unsafe', 'data_inspection_failed', 'content_blocked', 'policy', 'jailbreak']],
    ['refused', ['PROHIBITED_CONTENT', 'ERROR_TOXIC', 'content_filtered', 'sensitive', 'BLOCKLIST']],
  ])('is %s: %j', (kind, reasons) => {
    expect(reasons.map(finishKind)).toEqual(reasons.map(() => kind));
  });

  it('is absent if it is empty or null, also as text', () => {
    expect([null, undefined, '', ' ', 'null', 'None', 7].filter(isFinishReason)).toEqual([]);
    expect(isFinishReason('stop')).toBe(true);
  });

  it('never makes a text complete if no list has it', () => {
    fc.assert(
      fc.property(fc.string(), (reason) => {
        fc.pre(finishKind(reason) === undefined);
        expect(endOf(reason)).toBe('unknown');
      }),
    );
  });

  it('makes the response void if the server failed', () => {
    expect(endOf('error')).toBeUndefined();
  });
});
