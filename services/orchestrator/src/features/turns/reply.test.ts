import { describe, expect, it } from '@jest/globals';
import { create } from '@bufbuild/protobuf';
import { DoneSchema, Outcome } from '@uswarm/runtime-proto';
import { finishedReply } from './reply.js';

const done = (outcome: Outcome, more: { text?: string; errorCode?: string; errorMessage?: string } = {}) =>
  create(DoneSchema, { outcome, ...more });

describe('a finished reply', () => {
  it.each([
    [
      'completed is done and delivered',
      done(Outcome.COMPLETED, { text: 'whole' }),
      { turnStatus: 'done', messageStatus: 'delivered', text: 'whole', errorCode: null },
    ],
    [
      'completed without a text has what was streamed',
      done(Outcome.COMPLETED),
      { turnStatus: 'done', messageStatus: 'delivered', text: 'streamed', errorCode: null },
    ],
    [
      'silent says nothing, whatever was streamed',
      done(Outcome.SILENT, { text: 'hm' }),
      { turnStatus: 'done', messageStatus: 'silent', text: '', errorCode: null },
    ],
    [
      'stopped is incomplete with what there is',
      done(Outcome.STOPPED),
      { turnStatus: 'stopped', messageStatus: 'incomplete', text: 'streamed', errorCode: null },
    ],
    [
      'incomplete is failed, and keeps its text',
      done(Outcome.INCOMPLETE, { errorCode: 'model_timeout' }),
      { turnStatus: 'failed', messageStatus: 'incomplete', text: 'streamed', errorCode: 'model_timeout' },
    ],
    [
      'incomplete without a code has one',
      done(Outcome.INCOMPLETE),
      { turnStatus: 'failed', messageStatus: 'incomplete', text: 'streamed', errorCode: 'internal_error' },
    ],
    [
      'failed has a code',
      done(Outcome.FAILED, { errorCode: 'model_unavailable', errorMessage: 'Sorry.' }),
      { turnStatus: 'failed', messageStatus: 'failed', text: 'streamed', errorCode: 'model_unavailable' },
    ],
    [
      'without an outcome is failed',
      done(Outcome.UNSPECIFIED),
      { turnStatus: 'failed', messageStatus: 'failed', text: 'streamed', errorCode: 'internal_error' },
    ],
  ])('that %s', (_what, event, reply) => {
    expect(finishedReply(event, 'streamed')).toEqual(reply);
  });

  it('that failed before a word was said shows why', () => {
    expect(finishedReply(done(Outcome.FAILED, { errorMessage: 'The model cannot be reached.' }), '').text).toBe(
      'The model cannot be reached.',
    );
  });
});
