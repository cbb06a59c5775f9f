import fc from 'fast-check';

/** The product's host in Markdown tests. */
export const OWN = 'https://api.example.org';

const oneOf = (parts: string) => fc.constantFrom(...parts.split('¦'));

const fragments = oneOf(
  `!¦[¦]¦(¦)¦<¦>¦:¦\\¦/¦//¦&¦;¦"¦'¦ ¦\n¦\t¦\`¦\`\`\`\n¦~~~¦>¦- ¦#¦![¦![a](¦![a b](//evil.com/x)¦![a](https://evil.com/x)¦[a](https://evil.com/x)¦](¦]:¦][¦<img src=¦<a href="¦<!--¦-->¦<b>¦</b>¦&sol;¦&#58;¦&colon;¦&#8238;¦&lrm;¦https://evil.com/x¦HTTP://evil.com¦//evil.com¦evil.com¦https://bank.com@evil.com¦javascript:¦data:image/png,¦${OWN}/v1/assets/a.svg¦/v1/uploads/a¦bank.com¦ (evil.com)¦text¦é¦\u202e¦\u200b¦\u200d¦\r¦😀`,
);
export const markdownDocument = fc
  .array(fc.oneof({ weight: 9, arbitrary: fragments }, fc.string({ maxLength: 4 })), { maxLength: 30 })
  .map((parts) => parts.join(''));

const tagParts = oneOf(
  `<¦</¦>¦/>¦<b¦<i ¦<K,¦<img ¦<img/¦<a ¦<svg¦<script¦<div¦<div>¦<p ¦<pre>¦</div>¦<!¦<!--¦-->¦<?¦?>¦<![CDATA[¦src=//evil.com/x ¦href="//evil.com" ¦onclick=x ¦onerror=alert(1)¦style=a ¦ title="¦ title='¦"¦'¦=¦/¦ ¦  ¦    ¦\t¦\n¦\n\n¦- ¦1. ¦> ¦\`¦\`\`¦\`\`\`¦\`\`\`\n¦ \`\`\`\n¦   \`\`\`\n¦\n\`\`\`\n¦\n  \`\`\`\n¦~~~\n¦|¦\n-|-\n¦a|b¦\\¦$¦[¦](¦)¦[^1]: ¦http://a.b/¦https://evil.com¦a¦b c¦, ¦&¦;¦:¦!¦<https://a.b/c>¦<a@b.c>¦javascript:¦x<y¦<img src=//evil.com/x>¦<b onclick=x>¦<img src=x onerror=alert(1)>`,
);
export const htmlDocument = fc.array(tagParts, { maxLength: 24 }).map((parts) => parts.join(''));
