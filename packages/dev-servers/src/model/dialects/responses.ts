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
import { nameParentheses } from './calls/name-parentheses.js';
import { functionCall } from './calls/function-call.js';
import { functionInCall } from './calls/function-in-call.js';
import { callParameters } from './calls/call-parameters.js';
import { callsByIndex } from './calls/calls-by-index.js';
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

/** What models and servers put into responses, by the group of the dialect. */
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
    nameParentheses,
    functionCall,
    functionInCall,
    callParameters,
    callsByIndex,
    callsInContent,
    secondChoice,
    argumentsEscaped,
    argumentsBraces,
    argumentsQuoteTokens,
    argumentsNewlineOutside,
    argumentsQuotes,
  ],
  text: [alternatives, messageAtEnd, messageOnlyAtEnd, legacyText],
  messages: [inputInStart, contentText],
};
