/**
 * Texts with at least 200 characters, and their tokens in the encoding o200k_base, counted with gpt-tokenizer 4.0.
 */
export const COUNTED_TEXTS: readonly { name: string; tokens: number; text: string }[] = [
  {
    name: 'english',
    tokens: 67,
    text: 'The research team met on Tuesday to compare the results of the last three months. Sales in Norway grew by a fifth, while the number of returned orders fell slightly. Few expected the warehouse in Bergen to finish the move before winter, but it did, and the costs stayed below the estimate. The next report is due in early March.',
  },
  {
    name: 'german',
    tokens: 69,
    text: 'Die Arbeitsgruppe traf sich am Dienstag, um die Ergebnisse der vergangenen drei Monate zu vergleichen. Der Umsatz in Norwegen wuchs um ein Fünftel, während die Zahl der Rücksendungen leicht zurückging. Die Lagerverwaltungssoftware wurde planmäßig umgestellt, und die Geschwindigkeitsmessungen übertrafen sämtliche Erwartungen der Geschäftsführung.',
  },
  {
    name: 'chinese',
    tokens: 164,
    text: '研究小组星期二开会，比较了过去三个月的结果。挪威的销售额增长了五分之一，而退货数量略有下降。没有人预料到卑尔根的仓库会在冬天之前完成搬迁，但它做到了，而且费用低于预算。下一份报告将在三月初提交，届时我们会讨论新的价格、供应商的合同以及仓库里剩余的货物。与此同时，请把所有客户的反馈整理成一张表格，并标出最紧急的问题，以便我们能够在下周的会议上逐一处理。如果您需要更多的资料，可以随时联系我们的办公室，我们会尽快把文件发送给您，并且解释其中的每一个数字是怎样计算出来的。',
  },
  {
    name: 'japanese',
    tokens: 163,
    text: '研究チームは火曜日に集まり、過去三か月の結果を比較しました。ノルウェーの売上は五分の一増え、返品の数は少し減りました。ベルゲンの倉庫が冬の前に移転を終えるとは誰も思っていませんでしたが、費用は見積もりを下回りました。次の報告書は三月の初めに提出されます。それまでに、お客様からのご意見を一つの表にまとめ、急ぎの問題に印を付けておいてください。来週の会議で一つずつ確認します。資料が足りない場合は、いつでも事務所までご連絡ください。',
  },
  {
    name: 'korean',
    tokens: 124,
    text: '연구팀은 화요일에 모여 지난 석 달 동안의 결과를 비교했습니다. 노르웨이의 매출은 오분의 일이 늘었고 반품 건수는 조금 줄었습니다. 베르겐의 창고가 겨울 전에 이전을 마칠 것이라고는 아무도 예상하지 못했지만 비용은 예산보다 적게 들었습니다. 다음 보고서는 삼월 초에 제출됩니다. 그때까지 고객의 의견을 하나의 표로 정리하고 급한 문제에는 표시를 해 두세요. 다음 주 회의에서 하나씩 확인하겠습니다.',
  },
  {
    name: 'arabic',
    tokens: 89,
    text: 'اجتمع فريق البحث يوم الثلاثاء لمقارنة نتائج الأشهر الثلاثة الماضية. ارتفعت المبيعات في النرويج بمقدار الخمس، بينما انخفض عدد الطلبات المرتجعة قليلا. لم يتوقع أحد أن ينتهي المستودع في برغن من الانتقال قبل الشتاء، لكنه فعل ذلك، وبقيت التكاليف أقل من التقديرات. موعد التقرير القادم في أوائل شهر مارس.',
  },
  {
    name: 'hindi',
    tokens: 94,
    text: 'शोध दल मंगलवार को पिछले तीन महीनों के परिणामों की तुलना करने के लिए मिला। नॉर्वे में बिक्री पाँचवें हिस्से से बढ़ी, जबकि लौटाए गए ऑर्डरों की संख्या थोड़ी कम हुई। किसी को उम्मीद नहीं थी कि बर्गन का गोदाम सर्दियों से पहले स्थानांतरण पूरा कर लेगा, लेकिन उसने ऐसा किया और लागत अनुमान से कम रही। अगली रिपोर्ट मार्च की शुरुआत में आएगी।',
  },
  {
    name: 'russian',
    tokens: 77,
    text: 'Исследовательская группа собралась во вторник, чтобы сравнить результаты последних трёх месяцев. Продажи в Норвегии выросли на пятую часть, а количество возвращённых заказов немного уменьшилось. Никто не ожидал, что склад в Бергене завершит переезд до зимы, но это произошло, и расходы оказались ниже сметы.',
  },
  {
    name: 'emoji',
    tokens: 241,
    text: '😀🎉🚀🍕🐶🌈⚽🎸🏖️❤️👍🔥✨🥳🤖🦄🍎🚗🏠📱💡📚🎵🌍☕🧠🎁🙏😂😭😍🤔👀💯🙌😎🥰😅🌸🍀🐱🦊🐼🐸🦁🐯🐨🐵🐔🐧🐦🍇🍉🍓🍒🍑🥝🍅🥑🌽🥕🍔🍟🌭🍿🍩🍪🎂🍰🧁🍫🍬🍭🏀🏈⚾🎾🏐🎱🏓🏸🥊🎯🎮🎲🎻🎺🥁🎹🎷📷📺💻⌨️🖥️🖨️🖱️💾📞☎️⏰⌚🔋🔌💰💎🔧🔨🧲🔑🚪🛏️🛁🧹🧺',
  },
  {
    name: 'code',
    tokens: 112,
    text: "export async function loadConversation(store: MessageStore, id: string, limit = 50): Promise<Message[]> {\n  const rows = await store.selectFrom('messages').where('conversation_id', '=', id).orderBy('seq', 'desc').limit(limit).execute();\n  if (rows.length === 0) throw new ApiError('conversation_not_found', { id });\n  return rows.toReversed().map(({ id: messageId, body, created_at }) => ({ messageId, body, createdAt: created_at.toISOString() }));\n}\n",
  },
  {
    name: 'python',
    tokens: 123,
    text: 'def median(values: list[float]) -> float:\n    """Return the median of a non-empty list."""\n    ordered = sorted(values)\n    middle, odd = divmod(len(ordered), 2)\n    if not ordered:\n        raise ValueError("median of an empty list")\n    return ordered[middle] if odd else (ordered[middle - 1] + ordered[middle]) / 2.0\n\n\nif __name__ == "__main__":\n    print(f"{median([3.5, 1.25, 9.0, 4.75]):.3f}")\n',
  },
  {
    name: 'json',
    tokens: 142,
    text: '{"status":"ok","results":[{"title":"Opening hours of the city museum","url":"https://museum.example.org/visit?lang=en&ref=42","score":0.9713,"published_at":"2026-03-04T09:15:00.000Z","tags":["museum","hours"],"author":null},{"title":"Tickets","url":"https://museum.example.org/tickets/2026","score":0.8841,"published_at":"2025-12-19T17:40:12.512Z","tags":[],"author":"K. Lund"}],"next_cursor":"eyJvIjoyMCwicyI6ImEifQ"}',
  },
  {
    name: 'pretty json',
    tokens: 135,
    text: '{\n  "id": "a1b2c3",\n  "items": [\n    {\n      "name": "Chair",\n      "price": 129.95,\n      "stock": 14,\n      "dimensions": {\n        "width": 45,\n        "height": 88,\n        "depth": 52\n      }\n    },\n    {\n      "name": "Table",\n      "price": 349,\n      "stock": 3,\n      "dimensions": {\n        "width": 160,\n        "height": 74,\n        "depth": 90\n      }\n    }\n  ],\n  "active": true\n}',
  },
  {
    name: 'base64',
    tokens: 175,
    text: 'pKvURIxJVi2CgRXROh/M6pJ/UrTVRZKX+LQ+QtqJI4vBNibkPcs43bCCSIkn7JBPtCBXRDmD6IWFF51QVRr+Yg==EhtHdKdZkkopKcSkEvtuMbmqp0ZGaEDvzEp21pqUFJ4jZOOYPWRv6vqhtRF4XlyekK7cMNpqa+rVUg7MmcZiag==WuYlZl8+C9CgZe0HpBmJ5AJbedE5MKKoxX1rQyUiZwfZVqCC0ekbTZank1Yt+Y/QPJ3PdDyce04wVdT58JugFQ==',
  },
  {
    name: 'hex',
    tokens: 151,
    text: 'f3a91c07de5b8842a6e0137cbd994f20e815763d0ac4fb2196578e3dc0aa41b7f2096c8d5e1b34a7902fdc6e88134b5a07f9e2d1c386ab475f90bd24e6187c3a59d20ef1b84637ac958d1e602bfc73a4580eb96d21f7c4a3850e9b6f1d72ac3c04b8e59761fa2d83c0579eb41a6d3f28e9c7',
  },
  {
    name: 'uuids',
    tokens: 145,
    text: '7c9e6679-7425-40de-944b-e07fc1f90ae7\n550e8400-e29b-41d4-a716-446655440000\n6ba7b810-9dad-11d1-80b4-00c04fd430c8\n123e4567-e89b-12d3-a456-426614174000\nf47ac10b-58cc-4372-a567-0e02b2c3d479\n9b2d7b62-3f8e-4c53-8a0e-5d1c6f7a8b90\n',
  },
  {
    name: 'markdown table',
    tokens: 107,
    text: '| product | price | stock | supplier |\n| ------- | ----: | ----: | -------- |\n| Chair   | 129.95 |   14 | Nordform |\n| Table   | 349.00 |    3 | Nordform |\n| Lamp    |  59.50 |  120 | Lumen AS |\n| Shelf   |  89.00 |   41 | Treverk  |\n\n**Total:** 178 items. See [the list](https://example.org/list.csv).',
  },
  {
    name: 'numbers',
    tokens: 136,
    text: '3.14159265358979 2.71828182845905 1.41421356237310 1.61803398874989 0.57721566490153 1,234,567.89 98,765,432.10 2026-11-23 12:30:45 +13:00 192.168.10.254 10.0.0.1 0x7ffeefbff5c8 1e-10 6.02214076e23 299792458 8.314462618 9.80665 1013.25 273.15',
  },
  {
    name: 'french',
    tokens: 67,
    text: "L'équipe de recherche s'est réunie mardi pour comparer les résultats des trois derniers mois. Les ventes en Norvège ont augmenté d'un cinquième, tandis que le nombre de retours a légèrement diminué. Personne n'avait prévu que l'entrepôt de Bergen achèverait son déménagement avant l'hiver.",
  },
  {
    name: 'turkish',
    tokens: 83,
    text: "Araştırma ekibi salı günü son üç ayın sonuçlarını karşılaştırmak için toplandı. Norveç'teki satışlar beşte bir oranında artarken iade edilen siparişlerin sayısı biraz azaldı. Kimse Bergen'deki deponun taşınmayı kıştan önce bitireceğini beklemiyordu, ama maliyetler tahminin altında kaldı.",
  },
  {
    name: 'thai',
    tokens: 95,
    text: 'ทีมวิจัยประชุมกันในวันอังคารเพื่อเปรียบเทียบผลลัพธ์ของสามเดือนที่ผ่านมา ยอดขายในนอร์เวย์เพิ่มขึ้นหนึ่งในห้า ขณะที่จำนวนสินค้าที่ถูกส่งคืนลดลงเล็กน้อย ไม่มีใครคาดคิดว่าคลังสินค้าในเบอร์เกนจะย้ายเสร็จก่อนฤดูหนาว แต่ค่าใช้จ่ายก็ยังต่ำกว่าที่ประมาณไว้',
  },
  {
    name: 'greek',
    tokens: 94,
    text: 'Η ερευνητική ομάδα συναντήθηκε την Τρίτη για να συγκρίνει τα αποτελέσματα των τριών τελευταίων μηνών. Οι πωλήσεις στη Νορβηγία αυξήθηκαν κατά ένα πέμπτο, ενώ ο αριθμός των επιστροφών μειώθηκε ελαφρώς. Κανείς δεν περίμενε ότι η αποθήκη θα ολοκλήρωνε τη μετακόμιση.',
  },
  {
    name: 'hebrew',
    tokens: 94,
    text: 'צוות המחקר נפגש ביום שלישי כדי להשוות את התוצאות של שלושת החודשים האחרונים. המכירות בנורווגיה גדלו בחמישית, ואילו מספר ההזמנות שהוחזרו ירד מעט. איש לא ציפה שהמחסן בברגן יסיים את המעבר לפני החורף, אך העלויות נשארו מתחת לאומדן. הדוח הבא יוגש בתחילת מרץ.',
  },
  {
    name: 'polish',
    tokens: 87,
    text: 'Zespół badawczy spotkał się we wtorek, aby porównać wyniki z ostatnich trzech miesięcy. Sprzedaż w Norwegii wzrosła o jedną piątą, a liczba zwróconych zamówień nieznacznie spadła. Nikt się nie spodziewał, że magazyn zakończy przeprowadzkę przed zimą.',
  },
];
