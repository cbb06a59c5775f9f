import type { Dialect } from './dialect.js';
import { llamaFields } from './size/llama-fields.js';
import { tgiTotal } from './size/tgi-total.js';
import { tgiInput } from './size/tgi-input.js';
import { geminiCount } from './size/gemini-count.js';
import { groqTokensPerMinute } from './size/groq-tokens-per-minute.js';
import { openaiTokensPerMinute } from './size/openai-tokens-per-minute.js';
import { openrouterTools } from './size/openrouter-tools.js';
import { lmStudioKeep } from './size/lm-studio-keep.js';
import { lmStudioNKeep } from './size/lm-studio-n-keep.js';
import { dashscopeRange } from './size/dashscope-range.js';
import { vllmOutput } from './size/vllm-output.js';
import { volcengineSequence } from './size/volcengine-sequence.js';
import { gatewayJson } from './size/gateway-json.js';
import { tokensPerMinute } from './size/tokens-per-minute.js';
import { outputLimit } from './size/output-limit.js';
import { outputLimitRange } from './size/output-limit-range.js';
import { outputLimitValue } from './size/output-limit-value.js';
import { outputLimitBedrock } from './size/output-limit-bedrock.js';
import { toolsOllama } from './parts/tools-ollama.js';
import { toolsOpenrouter } from './parts/tools-openrouter.js';
import { toolsVllm } from './parts/tools-vllm.js';
import { toolsLlama } from './parts/tools-llama.js';
import { toolChoice } from './parts/tool-choice.js';
import { systemGemma } from './parts/system-gemma.js';
import { systemGemma500 } from './parts/system-gemma-500.js';
import { systemGemini } from './parts/system-gemini.js';
import { rolesAlternate } from './parts/roles-alternate.js';
import { imagesLlama } from './parts/images-llama.js';
import { imagesServer } from './parts/images-server.js';
import { cacheControl } from './parts/cache-control.js';
import { eagerInputStreaming } from './parts/eager-input-streaming.js';

/** Refusals because of the request's size. */
export const size: readonly Dialect[] = [
  llamaFields,
  tgiTotal,
  tgiInput,
  geminiCount,
  groqTokensPerMinute,
  openaiTokensPerMinute,
  openrouterTools,
  lmStudioKeep,
  lmStudioNKeep,
  dashscopeRange,
  vllmOutput,
  volcengineSequence,
  gatewayJson,
  tokensPerMinute,
  outputLimit,
  outputLimitRange,
  outputLimitValue,
  outputLimitBedrock,
];

/** Refusals because of one part. */
export const parts: readonly Dialect[] = [
  toolsOllama,
  toolsOpenrouter,
  toolsVllm,
  toolsLlama,
  toolChoice,
  systemGemma,
  systemGemma500,
  systemGemini,
  rolesAlternate,
  imagesLlama,
  imagesServer,
  cacheControl,
  eagerInputStreaming,
];
