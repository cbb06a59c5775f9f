import { describe, expect, it } from '@jest/globals';
import { isOutOfCredit } from './out-of-credit.js';

describe('an account without credit', () => {
  it.each<[string, number, string]>([
    ['OpenAI', 429, 'You exceeded your current quota, please check your plan and billing details. insufficient_quota'],
    ['OpenAI, hard limit', 400, 'Billing hard limit has been reached billing_hard_limit_reached'],
    [
      'OpenAI, inactive',
      429,
      'Your account is not active, please check your billing details on our website. billing_not_active',
    ],
    [
      'Anthropic',
      400,
      'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
    ],
    [
      'Anthropic, own limit',
      400,
      'You have reached your specified API usage limits. You will regain access on 2026-01-01 at 00:00 UTC.',
    ],
    ['DeepSeek', 402, 'Insufficient Balance'],
    [
      'OpenRouter',
      402,
      'This request requires more credits, or fewer max_tokens. You requested up to 4096 tokens, but can only afford 1000.',
    ],
    ['OpenRouter, key', 403, 'Key limit exceeded (monthly limit).'],
    ['xAI', 429, 'Your team has either used all available credits or reached its monthly spending limit.'],
    ['Hugging Face', 402, 'You have exceeded your monthly included credits for Inference Providers.'],
    [
      'Fireworks',
      412,
      'Account is suspended, possibly due to reaching the monthly spending limit or failure to pay past invoices.',
    ],
    ['LiteLLM', 400, 'Budget has been exceeded! Current cost: 26.075, Max budget: 0.25'],
    ['LiteLLM, user', 429, 'ExceededBudget: End User=x over budget. Spend=0.0008, Budget=0.0001'],
    ['DashScope', 400, 'Access denied, please make sure your account is in good standing. Arrearage'],
    [
      'Moonshot',
      429,
      'Your account is suspended, please check your plan and billing details exceeded_current_quota_error',
    ],
    ['Zhipu', 429, '余额不足或无可用资源包,请充值。'],
    ['Cloudflare', 429, 'you have used up your daily free allocation of neurons'],
    ['a gateway', 400, 'No credits left on this account.'],
    ['another gateway', 403, 'Your organization is out of credits'],
  ])('is recognized: %s', (_provider, status, text) => {
    expect(isOutOfCredit(status, text.toLowerCase())).toBe(true);
  });

  it.each<[string, number, string, boolean]>([
    [
      'a limit per minute',
      429,
      'Rate limit reached for gpt-4 on tokens per min. Please try again in 6s. Please add a payment method to your account to increase your rate limit.',
      false,
    ],
    [
      'a limit of a free tier',
      429,
      'You exceeded your current quota, please check your plan. Please retry in 20s.',
      false,
    ],
    ['a limit with a time', 429, 'Monthly usage limit reached.', true],
    ['an overload', 529, 'Overloaded', false],
    ['a missing parameter', 400, 'max_tokens is required', false],
    ['a prompt that is too long', 400, "this model's maximum context length is 8192 tokens", false],
  ])('is not %s', (_what, status, text, retries) => {
    expect(isOutOfCredit(status, text.toLowerCase(), retries)).toBe(false);
  });
});
