import { describe, expect, it } from '@jest/globals';
import { refusedParts } from './parts.js';
import { wordsOf } from './words.js';

const SENT = {
  fields: [
    'max_tokens',
    'stream',
    'stream_options',
    'tool_choice',
    'reasoning_content',
    'cache_control',
    'eager_input_streaming',
    '$schema',
    'additionalProperties',
  ],
  structural: new Set(['tools', 'system', 'images', 'reasoning']),
};
const parts = (status: number | undefined, text: string) =>
  refusedParts(status, wordsOf(JSON.stringify({ error: { message: text } })), SENT);
const names = (status: number | undefined, text: string) => parts(status, text).map(({ name }) => name);

describe('the refused part of a request', () => {
  it.each<[string, number, string]>([
    ['Ollama', 400, 'registry.ollama.ai/library/gemma3:1b does not support tools'],
    [
      'OpenRouter',
      404,
      'No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs',
    ],
    ['vLLM', 400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'],
    ['llama.cpp', 500, 'tools param requires --jinja flag'],
    ['llama.cpp, older', 400, 'Unsupported param: tools'],
    ['Bedrock', 400, "This model doesn't support tool use."],
    ['DeepSeek', 400, 'deepseek-reasoner does not support Function Calling'],
    ['Gemini', 400, 'Function calling is not enabled for models/gemma-3-27b-it'],
    ['Perplexity', 400, 'Tool calling is not supported for this model.'],
    ['OpenAI', 400, "Unsupported parameter: 'tools' is not supported with this model."],
    ['FastAPI', 422, 'tools: Extra inputs are not permitted'],
    ['Cloudflare', 400, 'This model does not support function_calling'],
    ['an older server', 501, 'Tools are not implemented'],
    ['a Chinese server', 400, '该模型不支持工具调用'],
    ['a Chinese gateway', 400, '模型不支持 function call'],
  ])('is the tools: %s', (_server, status, text) => {
    expect(parts(status, text)).toEqual([{ name: 'tools', always: true }]);
  });

  it.each<[string, number, string]>([
    ['Gemma template', 400, 'System role not supported'],
    ['a list of roles', 400, "Invalid value: 'system'. Supported values are: 'user', 'assistant'"],
    ['a Chinese server', 400, '该模型不支持 system 角色'],
    ['Gemma template of a server with status 500', 500, 'jinja2.exceptions.TemplateError: System role not supported'],
    ['Gemini', 400, 'Developer instruction is not enabled for models/gemma-3-27b-it'],
    ['OpenAI', 400, "Unsupported value: 'messages[0].role' does not support 'system' with this model."],
    ['Bedrock', 400, "This model doesn't support system messages. Try again without a system message."],
    ['a validation', 422, "messages.0.role: Input should be 'user' or 'assistant'"],
    ['Mistral template', 400, 'Conversation roles must alternate user/assistant/user/assistant/...'],
    ['another template', 400, 'Only user and assistant roles are supported!'],
    ['a server of the Messages protocol', 400, 'system: Input should be a valid string'],
    ['Cohere', 400, 'invalid role: system'],
  ])('is the system prompt first: %s', (_server, status, text) => {
    expect(names(status, text)[0]).toBe('system');
  });

  it.each<[string, number, string]>([
    [
      'llama.cpp',
      500,
      'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj',
    ],
    ['OpenAI', 400, 'Invalid content type. image_url is only supported by certain models.'],
    ['OpenRouter', 404, 'No endpoints found that support image input'],
    ['vLLM', 400, 'Qwen/Qwen3-8B is not a multimodal model'],
    ['vLLM with a limit', 400, 'At most 0 image(s) may be provided in one request.'],
    ['Ollama', 500, 'this model is missing data required for image input'],
    ['DeepSeek', 400, 'unknown variant `image_url`, expected `text`'],
    ['a router', 400, 'This model does not support images.'],
    ['a gateway', 400, 'Vision is not supported by this model'],
  ])('is the images: %s', (_server, status, text) => {
    expect(names(status, text)).toEqual(['images']);
  });

  it.each<[string, string]>([
    ['another account', 'messages.1.content.0: Invalid `signature` in `thinking` block'],
    [
      'a gateway',
      "messages.3.content.0: Input tag 'thinking' found using 'type' does not match any of the expected tags",
    ],
  ])('is the earlier reasoning: %s', (_server, text) => {
    expect(names(400, text)[0]).toBe('reasoning');
  });

  it.each<[string, number, string, string]>([
    [
      'a parameter',
      400,
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      'max_tokens',
    ],
    ['the choice of tools', 404, "No endpoints found that support the provided 'tool_choice' value.", 'tool_choice'],
    [
      'the usage of streams',
      400,
      "[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options'), 'msg': 'Extra inputs are not permitted'}]",
      'stream_options',
    ],
    ['a mark for the cache', 400, 'system.0.cache_control: Extra inputs are not permitted', 'cache_control'],
    [
      'a field of tools',
      400,
      'tools.0.custom.eager_input_streaming: Extra inputs are not permitted',
      'eager_input_streaming',
    ],
    ['earlier reasoning', 400, 'property messages.2.reasoning_content is unsupported', 'reasoning_content'],
    ['streaming', 400, "Unsupported value: 'stream' does not support true with this model.", 'stream'],
    ['streaming with tools', 400, "This model doesn't support tool use in streaming mode.", 'stream'],
    [
      'a keyword of schemas',
      400,
      'Unknown name "$schema" at \'tools[0].function_declarations[0].parameters\': Cannot find field.',
      '$schema',
    ],
    ['another keyword of schemas', 400, 'tools[0]: unsupported keyword additionalProperties', 'additionalProperties'],
  ])('is a field, before all that contains it: %s', (_what, status, text, field) => {
    expect(parts(status, text)[0]).toEqual({ name: field, always: true });
  });

  it.each<[string, number | undefined, string]>([
    [
      'the content of one conversation',
      400,
      'messages.3: tool_use ids were found without tool_result blocks immediately after',
    ],
    ['one schema', 400, "Invalid schema for function 'x': schema must be an object"],
    ['one image', 400, 'Could not process image: invalid image data'],
  ])('is left out of this call only, if it is about %s', (_what, status, text) => {
    const [first] = parts(status, text);
    expect(first).toMatchObject({ always: false });
  });

  it.each<[string, number, string]>([
    ['a key', 401, 'tools are not supported by this key'],
    ['a limit', 429, 'tools are not supported right now'],
    ['a failure', 500, 'Internal error: unexpected end of tools'],
    ['a missing model', 404, 'model "functions" not found'],
    ['another parameter', 400, 'Unsupported parameter: logprobs'],
    ['no cause', 400, 'Bad request'],
  ])('is unknown, if the failure is about %s', (_what, status, text) => {
    expect(parts(status, text)).toEqual([]);
  });

  it('is not looked for in what a validation quotes', () => {
    const body = JSON.stringify({
      detail: [
        {
          loc: ['body', 'stream_options'],
          msg: 'Extra inputs are not permitted',
          input: { tools: [], messages: 'images' },
        },
      ],
    });
    expect(refusedParts(422, wordsOf(body), SENT)).toEqual([{ name: 'stream_options', always: true }]);
  });
});
