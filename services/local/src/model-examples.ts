/** How to start with common model servers; docs/models.md explains the same lines. */
export const MODEL_EXAMPLES: readonly { server: string; environment: string }[] = [
  {
    server: 'Ollama',
    environment: 'OPENAI_BASE_URL=http://127.0.0.1:11434/v1 OPENAI_MODEL=qwen3 USWARM_MODEL_CONTEXT_WINDOW=4096',
  },
  {
    server: 'llama.cpp',
    environment: 'OPENAI_BASE_URL=http://127.0.0.1:8000/v1 OPENAI_MODEL=default USWARM_MODEL_CONTEXT_WINDOW=8192',
  },
  {
    server: 'vLLM',
    environment:
      'OPENAI_BASE_URL=http://127.0.0.1:8000/v1 OPENAI_MODEL=Qwen/Qwen3-8B USWARM_MODEL_CONTEXT_WINDOW=32768',
  },
  { server: 'OpenAI', environment: 'OPENAI_API_KEY=sk-your-key OPENAI_MODEL=gpt-5-mini' },
  { server: 'Anthropic', environment: 'ANTHROPIC_API_KEY=sk-ant-your-key ANTHROPIC_MODEL=claude-sonnet-4-5' },
  {
    server: 'LiteLLM, OpenAI protocol',
    environment: 'OPENAI_BASE_URL=http://127.0.0.1:4000/v1 OPENAI_API_KEY=sk-your-key OPENAI_MODEL=your-model',
  },
  {
    server: 'LiteLLM, Anthropic protocol',
    environment: 'ANTHROPIC_BASE_URL=http://127.0.0.1:4000/v1 ANTHROPIC_API_KEY=sk-your-key ANTHROPIC_MODEL=your-model',
  },
  {
    server: 'OpenRouter',
    environment:
      'OPENAI_BASE_URL=https://openrouter.ai/api/v1 OPENAI_API_KEY=sk-or-your-key OPENAI_MODEL=openai/gpt-5-mini',
  },
];
