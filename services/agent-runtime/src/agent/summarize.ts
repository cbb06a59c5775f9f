import { create } from '@bufbuild/protobuf';
import { type SummarizeRequest, SummaryKind, type Usage, UsageSchema } from '@uswarm/runtime-proto';
import { createModelContexts, type ModelContexts } from '../context/model-context.js';
import { roomFor } from '../context/turn-fit.js';
import { ModelError, type ModelPort, type Step, type StepUsage } from '../models/port.js';
import { modelText } from '../text/model-text.js';
import { createUntrustedBlock } from '../text/untrusted-block.js';
import { type ConfiguredLimits, contextLimits } from './model-limits.js';
import { createOverflows, type Overflows, type Reduction } from './overflows.js';
import { summaryPrompt } from './summary-prompt.js';

/** Tokens for a summary or a title, including reasoning, unless the request has more room. */
const OUTPUT_TOKENS = 1_000;
const MAX_OUTPUT_TOKENS = 8_000;
/** Characters in a title. */
const MAX_TITLE = 60;

export interface SummarizerDeps {
  model: ModelPort;
  limits: ConfiguredLimits;
  /** Shared with turns. Default: own ones. */
  contexts?: ModelContexts;
  onReduced?: (reduction: Reduction) => void;
}

export interface Summary {
  /** Empty if the model returned no text. */
  text: string;
  usage: Usage[];
}

/**
 * Writes summaries and titles, each with one model call without tools.
 * @throws ModelError, if no tokens were used; the reason of `signal`
 */
export type Summarize = (request: SummarizeRequest, signal: AbortSignal) => Promise<Summary>;

/** The first line, without decoration that models add. */
function toTitle(text: string): string {
  const [line = ''] = text.split('\n').filter((one) => one.trim() !== '');
  const bare = line
    .replace(/^[\s#*"'“”„«»]+/, '')
    .replace(/[\s*"'“”„«».]+$/, '')
    .replaceAll(/\s+/g, ' ');
  const characters = [...bare];
  return characters.length <= MAX_TITLE
    ? bare
    : `${characters
        .slice(0, MAX_TITLE - 1)
        .join('')
        .trimEnd()}…`;
}

function toUsage(provider: string, step: number, usage: StepUsage): Usage {
  const { model, estimated } = usage;
  return create(UsageSchema, {
    step,
    provider,
    model,
    estimated,
    promptTokens: BigInt(Math.ceil(usage.promptTokens)),
    completionTokens: BigInt(Math.ceil(usage.completionTokens)),
    cachedTokens: BigInt(Math.ceil(usage.cachedTokens)),
    reasoningTokens: BigInt(Math.ceil(usage.reasoningTokens)),
  });
}

const outputTokens = ({ maxOutputTokens }: SummarizeRequest): number =>
  Math.min(maxOutputTokens || OUTPUT_TOKENS, MAX_OUTPUT_TOKENS);

export function createSummarizer({ model, limits: configured, ...deps }: SummarizerDeps): Summarize {
  const { contexts = createModelContexts(), onReduced = () => undefined } = deps;
  const untrusted = createUntrustedBlock();

  async function attempt(
    request: SummarizeRequest,
    { usage, overflows }: { usage: Usage[]; overflows: Overflows },
    signal: AbortSignal,
  ): Promise<Step | undefined> {
    const { model: name } = request;
    const limits = { ...contextLimits(request.limits, configured), maxOutputTokens: outputTokens(request) };
    const known = { context: contexts.of(name), window: contexts.window(name), fit: overflows.fit };
    const room = roomFor(limits, known);
    const { maxOutputTokens } = room;
    const { prompt, size } = summaryPrompt(request, { room, untrusted });
    overflows.sending({ size }, maxOutputTokens);
    const call = { model: name, prompt, tools: [], toolChoice: 'none' as const, maxOutputTokens };
    let reported: number | undefined;
    for await (const event of model.step(call, { signal, token: () => request.modelToken || undefined })) {
      if (event.type === 'end') {
        contexts.accepted(name, { estimated: size.tokens, bytes: size.bytes, reported });
        overflows.accepted();
        return event.step;
      }
      if (event.type !== 'usage') continue;
      usage.push(toUsage(model.provider, usage.length, event.usage));
      if (!event.usage.estimated) reported = event.usage.promptTokens;
    }
    return undefined;
  }

  async function attempts(request: SummarizeRequest, usage: Usage[], signal: AbortSignal): Promise<Step | undefined> {
    const overflows = createOverflows(request.model, { contexts, onReduced });
    for (;;) {
      try {
        return await attempt(request, { usage, overflows }, signal);
      } catch (error) {
        if (!(error instanceof ModelError)) throw error;
        overflows.refused(error);
      }
    }
  }

  return async (request, signal) => {
    const usage: Usage[] = [];
    let step: Step | undefined;
    try {
      step = await attempts(request, usage, signal);
    } catch (error) {
      signal.throwIfAborted();
      // An error would lose the usage of attempts that failed after the model had started to answer.
      if (usage.length === 0 || !(error instanceof ModelError)) throw error;
    }
    // A partial summary would hide the rest of the conversation for good.
    const written = step?.finish === 'answered' ? modelText(step.text).trim() : '';
    return { text: request.kind === SummaryKind.TITLE ? toTitle(written) : written, usage };
  };
}
