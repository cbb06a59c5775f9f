import { create } from '@bufbuild/protobuf';
import { type CallOptions, Code, ConnectError } from '@connectrpc/connect';
import { createWritableIterable } from '@connectrpc/connect/protocol';
import { type AdvanceRequest, AdvanceRequestSchema, type HistoryMessage, type Resolution } from '@uswarm/runtime-proto';

/** A turn's stored events, as reported to its runtime. */
export interface TurnCommit {
  turnId: string;
  generation: number;
  committedThrough: bigint;
  resolutions: Resolution[];
  /** Messages that steer the turn. */
  steering?: HistoryMessage[];
}

/** Sends one turn's commits over a single call. */
export interface CommitStream {
  /** Resolves when the runtime has the commit. After a failure, all further commits fail. @throws ConnectError */
  send(commit: TurnCommit): Promise<void>;
  end(): void;
}

export interface CommitStreamDeps {
  advance: (commits: AsyncIterable<AdvanceRequest>, options: CallOptions) => AsyncIterable<unknown>;
  signal: AbortSignal;
  /** Time limit in ms for the runtime's response to each commit. */
  timeoutMs: number;
}

/** A separate call per commit would arrive later, twice in each step with a tool: see ADR 0022. */
export function openCommitStream({ advance, signal, timeoutMs }: CommitStreamDeps): CommitStream {
  const commits = createWritableIterable<AdvanceRequest>();
  const late = new AbortController();
  const unanswered: PromiseWithResolvers<void>[] = [];
  let failure: ConnectError | undefined;

  const fail = (error: unknown): void => {
    failure ??= ConnectError.from(error);
    commits.close();
    for (const { reject } of unanswered.splice(0)) reject(failure);
  };

  async function readAnswers(): Promise<void> {
    const answers = advance(commits, { signal: AbortSignal.any([signal, late.signal]) });
    for await (const _ of answers) unanswered.shift()?.resolve();
    throw new ConnectError('the runtime has ended the stream of commits', Code.Unavailable);
  }
  readAnswers().catch(fail);

  return {
    async send(commit) {
      if (failure !== undefined) throw failure;
      const answered = Promise.withResolvers<void>();
      unanswered.push(answered);
      const timeout = setTimeout(() => {
        fail(new ConnectError('the runtime does not respond to a commit', Code.DeadlineExceeded));
        late.abort(failure);
      }, timeoutMs);
      // A write fails only with the stream, and `answered` reports that.
      commits.write(create(AdvanceRequestSchema, commit)).catch(() => undefined);
      try {
        await answered.promise;
      } finally {
        clearTimeout(timeout);
      }
    },
    end: () => commits.close(),
  };
}
