import { describe, expect, it } from '@jest/globals';
import { outputLimitOf, overflowOf } from './size.js';
import { wordsOf } from './words.js';

const read = (status: number | undefined, body: string) => overflowOf(status, body, wordsOf(body));
const message = (text: string): string => JSON.stringify({ error: { message: text } });

describe('a refusal for the size of a request', () => {
  it.each<[string, number, string, number]>([
    [
      'OpenAI',
      400,
      "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8000 in the messages, 1000 in the completion). Please reduce the length of the messages or completion.",
      8192,
    ],
    [
      'OpenAI, older',
      400,
      "This model's maximum context length is 4097 tokens, however you requested 4226 tokens (3970 in your prompt; 256 for the completion).",
      4097,
    ],
    [
      'OpenAI with its limit of tokens per minute',
      429,
      'Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 342389. The input or output tokens must be reduced in order to run successfully.',
      30_000,
    ],
    ['Anthropic', 400, 'prompt is too long: 210000 tokens > 200000 maximum', 200_000],
    [
      'Anthropic with output',
      400,
      'input length and `max_tokens` exceed context limit: 198000 + 20000 > 200000, decrease input length or `max_tokens` and try again',
      200_000,
    ],
    [
      'vLLM',
      400,
      "'max_tokens' or 'max_completion_tokens' is too large: 64000. This model's maximum context length is 64001 tokens and your request has 24235 input tokens (64000 > 64001 - 24235).",
      64_001,
    ],
    [
      'vLLM, prompt',
      400,
      'The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller than the number of text tokens.',
      4096,
    ],
    ['SGLang', 400, "The input (5000 tokens) is longer than the model's context length (4096 tokens).", 4096],
    [
      'SGLang, total',
      400,
      "Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a total of 40000 tokens: 36000 tokens from the input messages and 4000 tokens for the completion.",
      32_768,
    ],
    [
      'Text Generation Inference',
      422,
      'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8192. Given: 9000 `inputs` tokens and 100 `max_new_tokens`',
      8192,
    ],
    [
      'Text Generation Inference, input',
      422,
      'Input validation error: `inputs` must have less than 4095 tokens. Given: 5000',
      4095,
    ],
    [
      'llama.cpp',
      400,
      'request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it',
      4096,
    ],
    ['llama-cpp-python', 400, 'Requested tokens (516) exceed context window of 512', 512],
    [
      'LM Studio',
      400,
      'Trying to keep the first 15857 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input',
      4096,
    ],
    [
      'LM Studio, newer',
      400,
      'The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input.',
      4096,
    ],
    [
      'Mistral',
      400,
      'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
      32_768,
    ],
    [
      'Gemini',
      400,
      'The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).',
      1_048_576,
    ],
    [
      'Vertex AI',
      400,
      'Unable to submit request because the input token count is 32769 but model only supports up to 32768. Reduce the input token count and try again.',
      32_768,
    ],
    [
      'Groq',
      413,
      'Request too large for model `llama-3.3-70b-versatile` in organization `org_01` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 14810, please reduce your message size and try again. Visit https://console.groq.com/docs/rate-limits for more information.',
      6000,
    ],
    [
      'OpenRouter',
      400,
      'This endpoint\'s maximum context length is 65536 tokens. However, you requested about 92208 tokens (60833 of text input, 10042 of tool input, 21333 in the output). Please reduce the length of either one, or use the "middle-out" transform to compress your prompt automatically.',
      65_536,
    ],
    ['xAI', 400, "This model's maximum prompt length is 131072 but the request contains 150000 tokens.", 131_072],
    [
      'Cohere',
      400,
      'too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000. Try using a shorter prompt.',
      4081,
    ],
    ['Fireworks', 400, 'The prompt is too long: 140000, model maximum context length: 131071', 131_071],
    [
      'Cerebras',
      400,
      'Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192',
      8192,
    ],
    ['GitHub Models', 413, 'Request body too large for gpt-4o model. Max size: 8000 tokens.', 8000],
    ['GitHub Copilot', 400, 'prompt token count of 150000 exceeds the limit of 128000', 128_000],
    ['DashScope', 400, '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]', 30_720],
    ['Moonshot', 400, 'Invalid request: Your request exceeded model token limit: 8192', 8192],
    ['TabbyAPI', 400, 'Prompt length 5000 is greater than max_seq_len 4096', 4096],
    ['TensorRT-LLM', 400, 'Prompt length (5000) exceeds maximum input length (4096)', 4096],
    ['watsonx', 400, 'the number of input tokens 5000 cannot exceed the total tokens limit 4096 for this model', 4096],
    ['Volcengine', 400, 'Input length of input_ids is `4498` and exceed max_sequence_length: `4096`!', 4096],
    ['a server with a comparison', 400, 'Token limit exceeded (9000 > 8192)', 8192],
    ['a server with a fraction', 400, 'Context limit exceeded: 9000/8192 tokens', 8192],
    ['a server that names the limit last', 400, 'Token limit exceeded: 9000 tokens, max 8192', 8192],
    ['a server with a hyphen', 400, 'The prompt exceeds the 8,192-token limit by 808 tokens', 8192],
    ['an unknown server', 400, 'Sorry: 9,120 tokens do not fit into the context, it has 8,192.', 8192],
    ['a server with separators', 400, 'The maximum context length is 8,192 tokens, you sent 9,100.', 8192],
    ['a server with spaces', 400, 'The maximum context length is 200 000 tokens.', 200_000],
    [
      'a server that only states what it can do',
      400,
      'Your prompt is 9000 tokens long but the model can only process 8192',
      8192,
    ],
    ['a server with a context of few tokens', 400, 'Input is 9000 tokens. The model has a context of 8k tokens.', 8000],
    ['a server with the size in brackets', 400, 'The context length (9000) is greater than the maximum (8192)', 8192],
    ['a server with the limit in brackets', 400, 'max_seq_len (8192) exceeded: 9000', 8192],
    [
      'a French server',
      400,
      'La longueur maximale du contexte est de 8192 jetons, mais la requête en contient 9000',
      8192,
    ],
    ['a German server', 400, 'Die maximale Kontextlänge beträgt 8192 Tokens, die Anfrage hat 9000 Tokens', 8192],
    [
      'a Spanish server',
      400,
      'La longitud máxima del contexto es de 8192 tokens, pero se solicitaron 9000 tokens',
      8192,
    ],
    ['a Russian server', 400, 'Превышена максимальная длина контекста: 8192 токенов, запрошено 9000', 8192],
    ['a Chinese server', 400, '上下文长度超限：9000 > 8192', 8192],
    ['a Japanese server', 400, 'プロンプトが長すぎます。最大コンテキスト長は8192トークンです。', 8192],
    ['a Korean server', 400, '최대 컨텍스트 길이는 8192 토큰입니다. 9000 토큰을 요청했습니다.', 8192],
    ['a server with units', 400, 'Prompt exceeds the maximum context of 128k tokens', 128_000],
  ])('names the limit: %s', (_server, status, text, limit) => {
    expect(read(status, message(text))).toEqual({ limit });
  });

  it.each<[string, number, string]>([
    [
      'in a field of the error',
      400,
      '{"error":{"message":"too long","type":"exceed_context_size_error","n_prompt_tokens":14429,"n_ctx":8192}}',
    ],
    [
      'in a field, in an error of status 500',
      500,
      '{"error":{"code":500,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","n_prompt_tokens":14429,"n_ctx":8192}}',
    ],
    [
      'in what a gateway passes on',
      400,
      JSON.stringify({
        error: {
          message: `Error from provider: ${JSON.stringify({ error: { message: 'maximum context length is 8192 tokens' } })}`,
        },
      }),
    ],
    [
      'in the metadata of a router',
      400,
      JSON.stringify({
        error: {
          message: 'Provider returned error',
          code: 400,
          metadata: { raw: '{"message":"prompt is too long: 9000 tokens > 8192 maximum"}' },
        },
      }),
    ],
    [
      'in a list of errors',
      400,
      JSON.stringify([
        {
          error: {
            code: 400,
            message: 'The input token count (9000) exceeds the maximum number of tokens allowed (8192).',
          },
        },
      ]),
    ],
    ['in a detail', 422, JSON.stringify({ detail: 'prompt too long, the limit is 8192 tokens' })],
    ['in a text', 400, 'Prompt too long (limit: 8192 tokens)'],
  ])('names the limit %s', (_where, status, body) => {
    expect(read(status, body)).toEqual({ limit: 8192 });
  });

  it.each<[string, number, string]>([
    [
      'llama.cpp, older',
      500,
      'the request exceeds the available context size. try increasing the context size or enable context shift',
    ],
    ['Bedrock', 400, 'Input is too long for requested model.'],
    [
      'OpenAI, newer',
      400,
      'Your input exceeds the context window of this model. Please adjust your input and try again.',
    ],
    [
      'OpenAI with a long text',
      400,
      "Invalid 'messages[0].content': string too long. Expected a string with maximum length 1048576, but got a string with length 1200000 instead.",
    ],
    ['Ollama', 400, 'prompt too long; exceeded max context length by 1200 tokens'],
    ['MiniMax with the code of its error', 400, 'invalid params, context window exceeds limit (2013)'],
    ['a proxy', 413, 'Payload Too Large'],
    ['a proxy that names bytes', 413, 'The request exceeds the maximum size of 1048576 bytes'],
    ['a proxy that names kilobytes', 413, 'Request body limit: 512 KB'],
    ['vLLM without room for output', 400, 'max_tokens must be at least 1, got -904.'],
    ['a Chinese gateway', 400, '输入长度超过模型最大上下文'],
    ['a validation', 422, 'inputs too long'],
  ])('names no limit of tokens: %s', (_server, status, text) => {
    expect(read(status, message(text))).toEqual({ limit: undefined });
  });

  it.each<[string, number, string]>([
    [
      'a limit per minute',
      429,
      'Rate limit reached for model `x` on tokens per minute (TPM): Limit 6000, Used 5034, Requested 1443. Please try again in 4.77s.',
    ],
    ['a limit per day', 429, 'Too many tokens per day, please wait before trying again.'],
    ['a limit per minute with status 400', 400, 'You exceeded the limit of 8000 tokens per minute'],
    ['an overload', 503, 'The context window service is unavailable'],
    ['a model that is not found', 404, 'The model with a context length of 8192 does not exist'],
    ['a key', 401, 'The token limit of this key is 8192 tokens'],
    ['an unknown field', 400, 'Unsupported parameter: stream_options'],
    [
      'the output',
      400,
      'max_tokens is too large: 6000. This model supports at most 4096 completion tokens, whereas you provided 6000.',
    ],
  ])('is not %s', (_what, status, text) => {
    expect(read(status, message(text))).toBeUndefined();
  });
});

it('reads a long page that is not closed once', () => {
  expect(wordsOf('<'.repeat(200_000))).toHaveLength(4_000);
});

describe('the refusal of an output limit', () => {
  it.each<[string, string, number | null]>([
    [
      'OpenAI',
      'max_tokens is too large: 6000. This model supports at most 4096 completion tokens, whereas you provided 6000.',
      4096,
    ],
    [
      'Anthropic',
      'max_tokens: 64000 > 4096, which is the maximum allowed number of output tokens for claude-3-haiku',
      4096,
    ],
    ['DeepSeek', 'Invalid max_tokens value, the valid range of max_tokens is [1, 4096]', 4096],
    [
      'Volcengine',
      'The parameter `max_completion_tokens` specified in the request are not valid: integer above maximum value, expected a value <= 4096, but got 32000 instead.',
      4096,
    ],
    [
      'Groq',
      '`max_tokens` must be less than or equal to `4096`, the maximum value for `max_tokens` is less than the `context_window` for this model',
      4096,
    ],
    [
      'Bedrock',
      'The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is lower than 4096.',
      4096,
    ],
    ['DashScope', 'Range of max_tokens should be [1, 4096]', 4096],
    ['a server without a number', 'max_tokens is too large', null],
  ])('names the limit: %s', (_server, text, limit) => {
    expect(outputLimitOf(wordsOf(message(text)))).toBe(limit);
  });

  it.each([
    "'max_tokens' or 'max_completion_tokens' is too large: 64000. This model's maximum context length is 64001 tokens and your request has 24235 input tokens.",
    '`inputs` tokens + `max_new_tokens` must be <= 8192. Given: 9000 `inputs` tokens and 100 `max_new_tokens`',
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
  ])('is not %s', (text) => {
    expect(outputLimitOf(wordsOf(message(text)))).toBeUndefined();
  });
});
