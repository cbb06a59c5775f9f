import { textCut } from './calls/text-cut.js';
import { textJson } from './calls/text-json.js';
import { textInThoughts } from './calls/text-in-thoughts.js';
import { textTwo } from './calls/text-two.js';
import { textChannelBare } from './calls/text-channel-bare.js';
import { textChannel } from './calls/text-channel.js';
import { textGemini } from './calls/text-gemini.js';
import { textGemma } from './calls/text-gemma.js';
import { textPython } from './calls/text-python.js';
import { textMinimax } from './calls/text-minimax.js';
import { textGlm } from './calls/text-glm.js';
import { textKimiNewer } from './calls/text-kimi-newer.js';
import { textKimi } from './calls/text-kimi.js';
import { textDsml } from './calls/text-dsml.js';
import { textDeepseek } from './calls/text-deepseek.js';
import { textMistral } from './calls/text-mistral.js';
import { textQwenCoder } from './calls/text-qwen-coder.js';
import { textLlama } from './calls/text-llama.js';
import { textWithWords } from './calls/text-with-words.js';
import { textBare } from './calls/text-bare.js';
import { textApertus } from './calls/text-apertus.js';
import { textFenced } from './calls/text-fenced.js';
import { textTools } from './calls/text-tools.js';
import { textHermes } from './calls/text-hermes.js';
import { tagsInCode } from './text/tags-in-code.js';
import { cutToken } from './text/cut-token.js';
import { endTokenLlama } from './text/end-token-llama.js';
import { endToken } from './text/end-token.js';
import { channelsBare } from './text/channels-bare.js';
import { channels } from './text/channels.js';
import { thoughtsAnnounced } from './text/thoughts-announced.js';
import { thoughtsAnswerTags } from './text/thoughts-answer-tags.js';
import { thoughtsGemma } from './text/thoughts-gemma.js';
import { thoughtsCommand } from './text/thoughts-command.js';
import { thoughtsSeed } from './text/thoughts-seed.js';
import { thoughtsTriangles } from './text/thoughts-triangles.js';
import { thoughtsBrackets } from './text/thoughts-brackets.js';
import { thoughtsNested } from './text/thoughts-nested.js';
import { thoughtsNotClosed } from './text/thoughts-not-closed.js';
import { thoughtsAfterText } from './text/thoughts-after-text.js';
import { thoughtsThinking } from './text/thoughts-thinking.js';
import { thoughtsWithoutOpening } from './text/thoughts-without-opening.js';
import { finishError } from './end/finish-error.js';
import { finishInsufficientResource } from './end/finish-insufficient-resource.js';
import { finishAbort } from './end/finish-abort.js';
import { finishMalformedCall } from './end/finish-malformed-call.js';
import { finishMaxTokens } from './end/finish-max-tokens.js';
import { finishMaxLength } from './end/finish-max-length.js';
import { finishSafety } from './end/finish-safety.js';
import { finishGuardrail } from './end/finish-guardrail.js';
import { finishSensitive } from './end/finish-sensitive.js';
import { finishUnknown } from './end/finish-unknown.js';
import { finishEosToken } from './end/finish-eos-token.js';
import { finishUpperCase } from './end/finish-upper-case.js';
import { finishComplete } from './end/finish-complete.js';
import { finishEndTurn } from './end/finish-end-turn.js';
import { finishErrorWhole } from './end/finish-error-whole.js';
import { finishNative } from './end/finish-native.js';
import { finishNullText } from './end/finish-null-text.js';
import { argumentsEncodedTwice } from './calls/arguments-encoded-twice.js';
import { argumentsFenced } from './calls/arguments-fenced.js';
import { argumentsPython } from './calls/arguments-python.js';
import { argumentsComma } from './calls/arguments-comma.js';
import { argumentsLineBreak } from './calls/arguments-line-break.js';
import { argumentsBracket } from './calls/arguments-bracket.js';
import { argumentsToken } from './calls/arguments-token.js';
import { argumentsWrapped } from './calls/arguments-wrapped.js';
import { argumentsRepeated } from './calls/arguments-repeated.js';
import { argumentsNullFields } from './calls/arguments-null-fields.js';
import { argumentsNumberText } from './calls/arguments-number-text.js';
import { nameNamespace } from './calls/name-namespace.js';
import { nameIndex } from './calls/name-index.js';
import { nameDefaultApi } from './calls/name-default-api.js';
import { nameMcp } from './calls/name-mcp.js';
import { nameToken } from './calls/name-token.js';
import { nameCase } from './calls/name-case.js';
import { functionCall } from './calls/function-call.js';
import { functionInCall } from './calls/function-in-call.js';
import { callParameters } from './calls/call-parameters.js';
import { callsInContent } from './calls/calls-in-content.js';
import { secondChoice } from './calls/second-choice.js';
import { alternatives } from './text/alternatives.js';
import { messageAtEnd } from './text/message-at-end.js';
import { messageOnlyAtEnd } from './text/message-only-at-end.js';
import { legacyText } from './text/legacy-text.js';
import { inputInStart } from './messages/input-in-start.js';
import { contentText } from './messages/content-text.js';
import { argumentsEscaped } from './calls/arguments-escaped.js';
import { argumentsBraces } from './calls/arguments-braces.js';
import { argumentsQuoteTokens } from './calls/arguments-quote-tokens.js';
import { argumentsNewlineOutside } from './calls/arguments-newline-outside.js';
import { argumentsQuotes } from './calls/arguments-quotes.js';
import type { Dialect } from './dialect.js';

/** Response dialects by group. */
export const responses: Readonly<Record<'end' | 'calls' | 'text' | 'messages', readonly Dialect[]>> = {
  end: [
    finishError,
    finishInsufficientResource,
    finishAbort,
    finishMalformedCall,
    finishMaxTokens,
    finishMaxLength,
    finishSafety,
    finishGuardrail,
    finishSensitive,
    finishUnknown,
    finishEosToken,
    finishUpperCase,
    finishComplete,
    finishEndTurn,
    finishErrorWhole,
    finishNative,
    finishNullText,
  ],
  calls: [
    argumentsEncodedTwice,
    argumentsFenced,
    argumentsPython,
    argumentsComma,
    argumentsLineBreak,
    argumentsBracket,
    argumentsToken,
    argumentsWrapped,
    argumentsRepeated,
    argumentsNullFields,
    argumentsNumberText,
    nameNamespace,
    nameIndex,
    nameDefaultApi,
    nameMcp,
    nameToken,
    nameCase,
    functionCall,
    functionInCall,
    callParameters,
    callsInContent,
    secondChoice,
    argumentsEscaped,
    argumentsBraces,
    argumentsQuoteTokens,
    argumentsNewlineOutside,
    argumentsQuotes,
    textHermes,
    textApertus,
    textFenced,
    textTools,
    textBare,
    textWithWords,
    textLlama,
    textQwenCoder,
    textMistral,
    textDeepseek,
    textDsml,
    textKimi,
    textKimiNewer,
    textGlm,
    textMinimax,
    textPython,
    textGemma,
    textGemini,
    textChannel,
    textChannelBare,
    textTwo,
    textInThoughts,
    textJson,
    textCut,
  ],
  text: [
    alternatives,
    messageAtEnd,
    messageOnlyAtEnd,
    legacyText,
    thoughtsWithoutOpening,
    thoughtsThinking,
    thoughtsAfterText,
    thoughtsNotClosed,
    thoughtsNested,
    thoughtsBrackets,
    thoughtsTriangles,
    thoughtsSeed,
    thoughtsCommand,
    thoughtsGemma,
    thoughtsAnswerTags,
    thoughtsAnnounced,
    channels,
    channelsBare,
    endToken,
    endTokenLlama,
    cutToken,
    tagsInCode,
  ],
  messages: [inputInStart, contentText],
};
