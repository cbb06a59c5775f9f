import { noIndex } from './calls/no-index.js';
import { thoughtSignature } from './calls/thought-signature.js';
import { allZero } from './calls/all-zero.js';
import { allZeroInParts } from './calls/all-zero-in-parts.js';
import { indexFromOne } from './calls/index-from-one.js';
import { nameLate } from './calls/name-late.js';
import { nameRepeated } from './calls/name-repeated.js';
import { idMissing } from './calls/id-missing.js';
import { idEmpty } from './calls/id-empty.js';
import { idNumeric } from './calls/id-numeric.js';
import { idRepeatedInStep } from './calls/id-repeated-in-step.js';
import { idRepeatedAcrossSteps } from './calls/id-repeated-across-steps.js';
import { argumentsObject } from './calls/arguments-object.js';
import { argumentsEmpty } from './calls/arguments-empty.js';
import { argumentsNull } from './calls/arguments-null.js';
import { argumentsTwice } from './calls/arguments-twice.js';
import { argumentsInvalid } from './calls/arguments-invalid.js';
import { argumentsCut } from './calls/arguments-cut.js';
import { singleObject } from './calls/single-object.js';
import { nameInvalid } from './calls/name-invalid.js';
import { asText } from './calls/as-text.js';
import { twoFinishReasons } from './calls/two-finish-reasons.js';
import { finishStop } from './calls/finish-stop.js';
import { finishWithoutCalls } from './calls/finish-without-calls.js';
import { contentList } from './text/content-list.js';
import { referenceParts } from './text/reference-parts.js';
import { thinkTags } from './text/think-tags.js';
import { reasoningContent } from './text/reasoning-content.js';
import { emptyDeltas } from './text/empty-deltas.js';
import { refusal } from './text/refusal.js';
import { contentFilter } from './text/content-filter.js';
import { length } from './text/length.js';
import { crlf } from './transport/crlf.js';
import { mixedLineEnds } from './transport/mixed-line-ends.js';
import { byteOrderMark } from './transport/byte-order-mark.js';
import { noSpace } from './transport/no-space.js';
import { splitCharacters } from './transport/split-characters.js';
import { lineSeparators } from './transport/line-separators.js';
import { comments } from './transport/comments.js';
import { noDelta } from './end/no-delta.js';
import { nullDelta } from './end/null-delta.js';
import { messageInChunk } from './end/message-in-chunk.js';
import { doneWithoutFinish } from './end/done-without-finish.js';
import { noDone } from './end/no-done.js';
import { cutBeforeText } from './end/cut-before-text.js';
import { cutInText } from './end/cut-in-text.js';
import { endsInText } from './end/ends-in-text.js';
import { endsInCall } from './end/ends-in-call.js';
import { usageNever } from './end/usage-never.js';
import { usageInEachChunk } from './end/usage-in-each-chunk.js';
import { errorBeforeText } from './end/error-before-text.js';
import { errorAfterText } from './end/error-after-text.js';
import { errorWithoutEnvelope } from './end/error-without-envelope.js';
import { overflowInStream } from './end/overflow-in-stream.js';
import { windowOpenai } from './http/window-openai.js';
import { windowVllm } from './http/window-vllm.js';
import { windowVllmNewer } from './http/window-vllm-newer.js';
import { windowLlama } from './http/window-llama.js';
import { windowAnthropic } from './http/window-anthropic.js';
import { tooLarge } from './http/too-large.js';
import { streamOptionsUnknown } from './http/stream-options-unknown.js';
import { streamOptionsExtra } from './http/stream-options-extra.js';
import { maxCompletionTokens } from './http/max-completion-tokens.js';
import { unauthorized } from './http/unauthorized.js';
import { limitedSeconds } from './http/limited-seconds.js';
import { limitedMilliseconds } from './http/limited-milliseconds.js';
import { limitedNoHeader } from './http/limited-no-header.js';
import { limitedDays } from './http/limited-days.js';
import { badGateway } from './http/bad-gateway.js';
import { errorWith200 } from './http/error-with-200.js';
import { hangsBeforeHead } from './http/hangs-before-head.js';
import { hangsInText } from './http/hangs-in-text.js';
import { overloadedBeforeText } from './messages/overloaded-before-text.js';
import { overloadedAfterText } from './messages/overloaded-after-text.js';
import { overloadedStatus } from './messages/overloaded-status.js';
import { pings } from './messages/pings.js';
import { partialJson } from './messages/partial-json.js';
import { noInput } from './messages/no-input.js';
import { parallelCalls } from './messages/parallel-calls.js';
import { thinking } from './messages/thinking.js';
import { redactedThinking } from './messages/redacted-thinking.js';
import { refusalStop } from './messages/refusal-stop.js';
import { pauseTurn } from './messages/pause-turn.js';
import { maxTokens } from './messages/max-tokens.js';
import { windowExceeded } from './messages/window-exceeded.js';
import { unknownEvents } from './messages/unknown-events.js';
import { lateUsage } from './messages/late-usage.js';
import { noMessageStop } from './messages/no-message-stop.js';
import { endsEarly } from './messages/ends-early.js';
import { equalRoles } from './messages/equal-roles.js';
import { nameSplit } from './calls/name-split.js';
import { paymentRequired } from './http/payment-required.js';
import { forbidden } from './http/forbidden.js';
import { moderation } from './http/moderation.js';
import { notFound } from './http/not-found.js';
import { requestTimeout } from './http/request-timeout.js';
import { conflict } from './http/conflict.js';
import { unavailable } from './http/unavailable.js';
import { gatewayTimeout } from './http/gateway-timeout.js';
import { eightCalls, nineCalls, fortyCalls, hundredsOfCalls } from './calls/many-calls.js';
import { argumentsLarge } from './calls/arguments-large.js';
import { argumentsNul } from './calls/arguments-nul.js';
import { argumentsSurrogates } from './calls/arguments-surrogates.js';
import { nul } from './text/nul.js';
import { surrogates } from './text/surrogates.js';
import { surrogatesSplit } from './text/surrogates-split.js';
import { reasoningSurrogates } from './text/reasoning-surrogates.js';
import { singleBytes } from './transport/single-bytes.js';
import { largeLine } from './transport/large-line.js';
import { noContentType } from './transport/no-content-type.js';
import { typedAsText } from './transport/typed-as-text.js';
import { typedAsJson } from './transport/typed-as-json.js';
import { typedAsJsonLate } from './transport/typed-as-json-late.js';
import { wholeResponse } from './transport/whole-response.js';
import { wholeCalls } from './transport/whole-calls.js';
import { usageNegative } from './end/usage-negative.js';
import { usageText } from './end/usage-text.js';
import { usageNull } from './end/usage-null.js';
import { usageFirst } from './end/usage-first.js';
import { limitedDate } from './http/limited-date.js';
import { errorWith200Messages } from './messages/error-with-200.js';
import { rejectionWith200 } from './messages/rejection-with-200.js';
import { noUsageAtStart } from './messages/no-usage-at-start.js';
import { noUsageAtEnd } from './messages/no-usage-at-end.js';
import { usageInvalid } from './messages/usage-invalid.js';
import { cutAfterFinish } from './end/cut-after-finish.js';
import { cutInUsage } from './end/cut-in-usage.js';
import { hangsAfterFinish } from './end/hangs-after-finish.js';
import { commentsAfterFinish } from './end/comments-after-finish.js';
import { reasoningField } from './text/reasoning-field.js';
import type { Dialect } from './dialect.js';
import { responses } from './responses.js';
import { loadingLlama } from './http/loading-llama.js';
import { loadingHuggingFace } from './http/loading-hugging-face.js';
import { noQuota } from './http/no-quota.js';
import { noCredits } from './http/no-credits.js';
import { budgetExceeded } from './http/budget-exceeded.js';
import { redirected } from './http/redirected.js';
import { parts, size } from './refusals.js';

/** All dialects by group: what servers do that the documentation of their protocol does not lead one to expect. */
export const dialects: Readonly<Record<string, readonly Dialect[]>> = {
  calls: [
    noIndex,
    thoughtSignature,
    allZero,
    allZeroInParts,
    indexFromOne,
    nameLate,
    nameRepeated,
    nameSplit,
    idMissing,
    idEmpty,
    idNumeric,
    idRepeatedInStep,
    idRepeatedAcrossSteps,
    argumentsObject,
    argumentsEmpty,
    argumentsNull,
    argumentsTwice,
    argumentsInvalid,
    argumentsCut,
    singleObject,
    nameInvalid,
    asText,
    twoFinishReasons,
    finishStop,
    finishWithoutCalls,
    eightCalls,
    nineCalls,
    fortyCalls,
    hundredsOfCalls,
    argumentsLarge,
    argumentsNul,
    argumentsSurrogates,
    ...responses.calls,
  ],
  text: [
    contentList,
    referenceParts,
    thinkTags,
    reasoningContent,
    reasoningField,
    emptyDeltas,
    refusal,
    contentFilter,
    length,
    nul,
    surrogates,
    surrogatesSplit,
    reasoningSurrogates,
    ...responses.text,
  ],
  transport: [
    crlf,
    mixedLineEnds,
    byteOrderMark,
    noSpace,
    splitCharacters,
    lineSeparators,
    comments,
    singleBytes,
    largeLine,
    noContentType,
    typedAsText,
    typedAsJson,
    typedAsJsonLate,
    wholeResponse,
    wholeCalls,
  ],
  end: [
    noDelta,
    nullDelta,
    messageInChunk,
    doneWithoutFinish,
    noDone,
    cutBeforeText,
    cutInText,
    endsInText,
    endsInCall,
    cutAfterFinish,
    cutInUsage,
    hangsAfterFinish,
    commentsAfterFinish,
    usageNever,
    usageInEachChunk,
    usageNegative,
    usageText,
    usageNull,
    usageFirst,
    errorBeforeText,
    errorAfterText,
    errorWithoutEnvelope,
    overflowInStream,
    ...responses.end,
  ],
  http: [
    windowOpenai,
    windowVllm,
    windowVllmNewer,
    windowLlama,
    windowAnthropic,
    tooLarge,
    streamOptionsUnknown,
    streamOptionsExtra,
    maxCompletionTokens,
    unauthorized,
    paymentRequired,
    forbidden,
    moderation,
    notFound,
    requestTimeout,
    conflict,
    unavailable,
    gatewayTimeout,
    limitedSeconds,
    limitedMilliseconds,
    limitedDate,
    limitedNoHeader,
    limitedDays,
    badGateway,
    errorWith200,
    hangsBeforeHead,
    hangsInText,
    loadingLlama,
    loadingHuggingFace,
    noQuota,
    noCredits,
    budgetExceeded,
    redirected,
  ],
  size,
  parts,
  messages: [
    overloadedBeforeText,
    overloadedAfterText,
    overloadedStatus,
    pings,
    partialJson,
    noInput,
    parallelCalls,
    thinking,
    redactedThinking,
    refusalStop,
    pauseTurn,
    maxTokens,
    windowExceeded,
    unknownEvents,
    lateUsage,
    noMessageStop,
    endsEarly,
    equalRoles,
    errorWith200Messages,
    rejectionWith200,
    noUsageAtStart,
    noUsageAtEnd,
    usageInvalid,
    ...responses.messages,
  ],
};
