import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { countTokens as countCl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import {
  countTokens as countO200k,
  decode as decodeO200k,
  encode as encodeO200k,
} from 'gpt-tokenizer/encoding/o200k_base';
import { estimatePromptTokens, estimateTokens } from './token-estimate.js';

const counted = (text: string): number => Math.max(countCl100k(text), countO200k(text));
const fileOf = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
const repeated = (make: () => string, times: number): string => Array.from({ length: times }, make).join('');

const LANGUAGES: [string, string][] = [
  [
    'German',
    'Die Donaudampfschifffahrtsgesellschaft veröffentlichte gestern überraschend ihre Jahresabschlussberichte. Größere Änderungen sind möglich.',
  ],
  [
    'French',
    "L'été dernier, nous avons découvert une bibliothèque où l'on pouvait lire des œuvres du dix-neuvième siècle.",
  ],
  [
    'Finnish',
    'Sade jatkuu huomenna koko maassa, ja lentokoneiden aikatauluihin on odotettavissa huomattavia muutoksia.',
  ],
  [
    'Vietnamese',
    'Hôm nay trời đẹp quá, chúng tôi quyết định đi dạo quanh hồ Hoàn Kiếm và thưởng thức một tô phở bò nóng hổi.',
  ],
  ['Polish', 'Chrząszcz brzmi w trzcinie w Szczebrzeszynie, a źdźbło trawy kołysze się na wietrze. Zażółć gęślą jaźń.'],
  ['Russian', 'Сегодня утром правительство объявило о новых мерах поддержки малого предпринимательства.'],
  ['Greek', 'Σήμερα το πρωί ο καιρός ήταν πολύ καλός και αποφασίσαμε να πάμε μια βόλτα στην παραλία με τα παιδιά μας.'],
  ['Arabic', 'أعلنت الحكومة صباح اليوم عن حزمة جديدة من الإجراءات لدعم المشاريع الصغيرة والمتوسطة.'],
  ['Hebrew', 'הבוקר הודיעה הממשלה על צעדים חדשים לתמיכה בעסקים קטנים ובינוניים ברחבי הארץ.'],
  ['Hindi', 'सरकार ने आज सुबह छोटे और मध्यम उद्योगों के समर्थन के लिए नए उपायों की घोषणा की।'],
  ['Tamil', 'அரசு இன்று காலை சிறு மற்றும் நடுத்தர தொழில்களுக்கு ஆதரவளிக்கும் புதிய நடவடிக்கைகளை அறிவித்தது.'],
  ['Thai', 'รัฐบาลประกาศมาตรการใหม่เมื่อเช้านี้เพื่อสนับสนุนธุรกิจขนาดกลางและขนาดย่อมทั่วประเทศ'],
  ['Chinese', '政府今天上午宣布了支持中小企业的新措施，将于明年一月起生效。我们去图书馆借了几本关于人工智能的书。'],
  [
    'Japanese',
    '政府は今朝、中小企業を支援するための新しい措置を発表した。カタカナのコンピューターテクノロジーも含む。',
  ],
  ['Korean', '정부는 오늘 아침 중소기업을 지원하기 위한 새로운 조치를 발표했으며, 내년 1월부터 시행될 예정이다.'],
  ['Georgian', 'მთავრობამ დღეს დილით გამოაცხადა ახალი ზომები მცირე და საშუალო ბიზნესის მხარდასაჭერად.'],
  ['Amharic', 'መንግሥት ዛሬ ጠዋት ለአነስተኛና መካከለኛ ድርጅቶች ድጋፍ የሚሆኑ አዳዲስ እርምጃዎችን አስታወቀ።'],
  ['Khmer', 'រដ្ឋាភិបាលបានប្រកាសវិធានការថ្មីនៅព្រឹកនេះដើម្បីគាំទ្រសហគ្រាសធុនតូចនិងមធ្យម។'],
];

const DATA: [string, string][] = [
  ['hexadecimal numbers', repeated(() => `${randomBytes(32).toString('hex')}\n`, 50)],
  ['base64', repeated(() => `${randomBytes(300).toString('base64')}\n`, 20)],
  ['UUIDs', repeated(() => `${randomUUID()}\n`, 100)],
  ['digits', repeated(() => String(Math.random()).slice(2), 50)],
  ['random letters', repeated(() => `${repeated(() => String.fromCharCode(97 + Math.random() * 26), 6)} `, 500)],
  ['punctuation', repeated(() => String.fromCharCode(33 + Math.random() * 15), 1_000)],
  ['spaces', repeated(() => ' '.repeat(Math.random() * 40) + '\n'.repeat(Math.random() * 4), 200)],
  ['capital letters', 'THIS IS A SENTENCE ABOUT INTERNATIONALISATION AND CONFIGURATION. '.repeat(10)],
  ['emoji', '👩‍👩‍👧‍👦🏳️‍🌈🧑🏽‍🚀😀🎉🇩🇪🇯🇵👍🏿❤️‍🔥🫠🪿 '.repeat(10)],
  ['formulas', '∑∀x∈ℝ: ⌈x⌉ = −⌊−x⌋ ≤ ∫₀^∞ e^{−x²}dx ≠ √π⁄2 → ⊆ ⊕ ⊗ ≡ ∂∇ '.repeat(10)],
  ['box drawing', '┌──────┬─────┐│ cell │ x   │└──────┴─────┘ ████░░░ ▲▼◆● '.repeat(10)],
  ['code', fileOf('packages/service-kit/src/tokens.ts')],
  ['JSON', fileOf('charts/uswarm/dashboards/models.json')],
  ['minified JSON', JSON.stringify(JSON.parse(fileOf('charts/uswarm/dashboards/models.json')))],
  ['YAML', fileOf('charts/uswarm/values.yaml')],
];

describe('the estimate of tokens', () => {
  it.each([...LANGUAGES, ...DATA])('is not below the counts of two tokenizers for %s', (_name, text) => {
    expect(estimateTokens(text)).toBeGreaterThanOrEqual(counted(text));
  });

  it('is at most 1.7 times the count for English', () => {
    const text = fileOf('docs/architecture.md').replaceAll(/[|`#*[\]()<>_]/g, ' ');
    const ratio = estimateTokens(text) / counted(text);
    expect(ratio).toBeGreaterThanOrEqual(1);
    expect(ratio).toBeLessThanOrEqual(1.7);
  });

  it('is not below the count for a text that arrives in parts of whole tokens', () => {
    // The estimate for a short text with random letters can be too low.
    const estimated = [...LANGUAGES, ...DATA].filter(([name]) => name !== 'random letters');
    const texts = fc.constantFrom(...estimated.map(([, text]) => text.slice(0, 400)));
    fc.assert(
      fc.property(texts, fc.array(fc.integer({ min: 1, max: 4 })), (text, sizes) => {
        const tokens = encodeO200k(text);
        const groups = [...sizes.map((size) => tokens.splice(0, size)), tokens];
        const sum = groups.reduce((total, group) => total + estimateTokens(decodeO200k(group)), 0);
        expect(sum).toBeGreaterThanOrEqual(countO200k(text));
      }),
    );
  });

  it('counts an image of a request by a constant, but not text that looks like one', () => {
    const data = randomBytes(500_000).toString('base64');
    const url = `data:image/png;base64,${data}`;
    const openai = { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] };
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data } };
    const anthropic = { messages: [{ role: 'user', content: [image] }] };
    const result = {
      messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: [image] }] }],
    };
    for (const body of [openai, anthropic, result]) {
      const tokens = estimatePromptTokens(JSON.stringify(body));
      expect(tokens).toBeGreaterThan(3_000);
      expect(tokens).toBeLessThan(3_200);
    }
    const like = { url: url.slice(0, 20_000) };
    const quoted = { role: 'user', content: JSON.stringify(like) };
    const input = { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'open', input: like }] };
    for (const message of [quoted, input]) {
      expect(estimatePromptTokens(JSON.stringify({ messages: [message] }))).toBeGreaterThan(10_000);
    }
  });
});
