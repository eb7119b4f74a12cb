// SPDX-License-Identifier: BSD-3-Clause
// Intel 82599 (10 GbE) with a KX4 backplane link. Chapters are those of the "Intel 82599 10 GbE
// Controller Datasheet". Registers that are not named here are storage.
#include <string.h>

#include "frame.h"
#include "nic.h"

enum {
    BAR_BYTES = 0x80000,
    REGISTERS = 0x20000,

    // 8.2.3.1 General control.
    CTRL = 0x00000,
    CTRL_PCIE_MASTER_DISABLE = 1 << 2,
    CTRL_LRST = 1 << 3,
    CTRL_RST = 1 << 26,
    STATUS = 0x00008,
    STATUS_PCIE_MASTER_ENABLE = 1 << 19,

    // 8.2.3.2 EEPROM and flash.
    EEC = 0x10010,
    EEC_PRESENT = 1 << 8,
    EEC_AUTO_READ_DONE = 1 << 9,
    EERD = 0x10014,
    EERD_START = 1 << 0,
    EERD_DONE = 1 << 1,
    SWSM = 0x10140,  // SMBI is set by a read
    SWSM_SMBI = 1 << 0,
    EEPROM_WORDS = 0x40,

    // 8.2.3.7 Receive: filters.
    FCTRL = 0x05080,
    FCTRL_MPE = 1 << 8,
    FCTRL_UPE = 1 << 9,
    FCTRL_BAM = 1 << 10,
    MCSTCTRL = 0x05090,
    MCSTCTRL_MFE = 1 << 2,
    MTA = 0x05200,
    RAL = 0x05400,  // and RAH behind it; 16 here
    RAL_HIGH = 0x0a200,
    RAH_VALID = 1 << 31,
    MRQC = 0x05818,
    RETA = 0x05c00,
    RSSRK = 0x05c80,

    // 8.2.3.8 Receive DMA.
    RXCTRL = 0x03000,
    RXCTRL_RXEN = 1 << 0,
    RDRXCTL = 0x02f00,
    RDRXCTL_DMA_DONE = 1 << 3,
    RXPBSIZE = 0x03c00,
    SRRCTL_LOW = 0x02100,  // of queues 0-15, as in RX_SRRCTL
    RX_QUEUE = 0x01000,    // 64 bytes a queue: these
    RX_RDBAL = 0x00,
    RX_RDBAH = 0x04,
    RX_RDLEN = 0x08,
    RX_RDH = 0x10,
    RX_SRRCTL = 0x14,
    RX_RDT = 0x18,
    RX_RXDCTL = 0x28,
    SRRCTL_DROP_EN = 1 << 28,
    QUEUE_ENABLE = 1 << 25,  // of RXDCTL and TXDCTL
    RXDCTL_VME = 1 << 30,
    SECRXSTAT = 0x08d04,
    SECRXSTAT_READY = 1 << 0,

    // 8.2.3.9 Transmit.
    DMATXCTL = 0x04a80,
    DMATXCTL_TE = 1 << 0,
    DTXTCPFLGL = 0x04a88,  // flags of the first and of the middle segments
    DTXTCPFLGH = 0x04a8c,  // and of the last
    TX_QUEUE = 0x06000,
    TX_TDBAL = 0x00,
    TX_TDBAH = 0x04,
    TX_TDLEN = 0x08,
    TX_TDH = 0x10,
    TX_TDT = 0x18,
    TX_TXDCTL = 0x28,

    // 8.2.3.22 MAC: link.
    HLREG0 = 0x04240,
    HLREG0_JUMBO = 1 << 2,
    MAXFRS = 0x04268,
    AUTOC = 0x042a0,
    AUTOC_RESTART_AN = 1 << 12,
    LINKS = 0x042a4,
    ANLP1 = 0x042b0,

    // 8.2.3.23 Statistics: clear when read.
    STATISTICS = 0x03f00,  // all between here
    STATISTICS_END = 0x04200,
    MPC = 0x03fa0,
    PRC64 = 0x0405c,
    GPRC = 0x04074,
    BPRC = 0x04078,
    MPRC = 0x0407c,
    GPTC = 0x04080,
    GORCL = 0x04088,
    GOTCL = 0x04090,
    RUC = 0x040a4,
    ROC = 0x040ac,
    TORL = 0x040c0,
    TPR = 0x040d0,
    TPT = 0x040d4,
    PTC64 = 0x040d8,
    XEC = 0x04120,
    RQSMR = 0x02300,  // which of 16 counters a queue has
    TQSM = 0x08600,
    QPRC = 0x01030,
    QBRC = 0x01034,
    QPRDC = 0x01430,
    QPTC = 0x08680,
    QBTC = 0x08700,
};

// 8.2.3.22 LINKS: up, 10 Gbit/s, and the end of the auto-negotiation.
static const uint32_t links_up = UINT32_C(0xf0000000);
// 8.2.3.22.19 AUTOC: KX4 and KX, auto-negotiation for both.
static const uint32_t autoc_default = UINT32_C(0xc0000000) | 4 << 13 | 1 << 7;
static const uint8_t mac[6] = {0x02, 0x82, 0x59, 0x90, 0x00, 0x01};

// 7.1.6.2: advanced receive descriptors, as they are written back.
enum {
    RX_DD = 1 << 0,
    RX_EOP = 1 << 1,
    RX_VP = 1 << 3,
    RX_L4CS = 1 << 5,
    RX_IPCS = 1 << 6,
    RX_L4E = 1 << 30,
    RX_TYPE_V4 = 1 << 4,
    RX_TYPE_V4_MORE = 1 << 5,
    RX_TYPE_V6 = 1 << 6,
    RX_TYPE_V6_MORE = 1 << 7,
    RX_TYPE_TCP = 1 << 8,
    RX_TYPE_UDP = 1 << 9,
};
#define RX_IPE UINT32_C(0x80000000)

// 7.2.3.2: advanced transmit descriptors.
enum {
    TX_CONTEXT = 2,
    TX_DATA = 3,
    TX_EOP = 1 << 24,
    TX_RS = 1 << 27,
    TX_DEXT = 1 << 29,
    TX_VLE = 1 << 30,
    TX_IXSM = 1 << 8,
    TX_TXSM = 1 << 9,
    TX_CC = 1 << 7,
    TX_SEGMENTS_MAX = 40,
};
#define TX_TSE UINT32_C(0x80000000)

struct rx_desc {
    uint64_t low, high;
};

struct tx_desc {
    uint64_t address;
    uint32_t command, options;
};

struct context {
    uint32_t lengths;  // IPLEN, MACLEN, VLAN
    uint32_t command;  // TUCMD
    uint32_t mss;      // L4LEN, MSS
};

static uint32_t regs[REGISTERS / 4];
static struct tx_queue {
    struct context contexts[2];
    // The packet that is being put together.
    uint8_t *data;
    uint32_t len, descriptors, first_command, first_options;
    uint64_t packets;
    struct frame_work work;
} tx_queues[NIC_QUEUES_MAX];
static struct {
    uint64_t packets, dropped;
} rx_queues[NIC_QUEUES_MAX];

static uint32_t *rx_reg(unsigned queue, unsigned offset)
{
    return &regs[(RX_QUEUE + queue * 64 + offset) / 4];
}

static uint32_t *tx_reg(unsigned queue, unsigned offset)
{
    return &regs[(TX_QUEUE + queue * 64 + offset) / 4];
}

static uint16_t eeprom(unsigned word)
{
    uint16_t sum = 0;
    // 6 Non-volatile memory map: word 0x2c is the capabilities of the device: no cross-talk
    // work-around (it looks for an SFP+ cage).
    const uint16_t caps = 1 << 7;
    if (word == 0x2c)
        return caps;
    if (word != 0x3f)
        return word < EEPROM_WORDS ? 0 : 0xffff;
    sum = (uint16_t)(0xbaba - caps);  // the sum of words 0 to 0x3f
    return sum;
}

// 4.2 Software reset: registers return to their defaults.
static void reset(void)
{
    memset(regs, 0, sizeof(regs));
    for (unsigned q = 0; q < NIC_QUEUES_MAX; q++)
        tx_queues[q].len = tx_queues[q].descriptors = 0;
    regs[EEC / 4] = EEC_PRESENT | EEC_AUTO_READ_DONE;
    regs[RDRXCTL / 4] = RDRXCTL_DMA_DONE;
    regs[SECRXSTAT / 4] = SECRXSTAT_READY;
    regs[AUTOC / 4] = autoc_default;
    regs[ANLP1 / 4] = 1 << 16;
    regs[HLREG0 / 4] = 1 << 0 | 1 << 1 | 1 << 10;
    regs[MAXFRS / 4] = 1518u << 16;
    regs[RXPBSIZE / 4] = 512 << 10;
    regs[DTXTCPFLGL / 4] = 0x0ff60ff6;
    regs[DTXTCPFLGH / 4] = 0x00000f7f;
    memcpy(&regs[RAL / 4], mac, 6);
    regs[RAL / 4 + 1] |= RAH_VALID;
}

static bool is_statistic(uint32_t reg)
{
    if (reg >= STATISTICS && reg < STATISTICS_END)
        return true;
    if ((reg >= QPTC && reg < QPTC + 0x40) || (reg >= QBTC && reg < QBTC + 0x80))
        return true;
    const uint32_t at = reg & 0x3f;
    if (reg >= RX_QUEUE && reg < RX_QUEUE + 0x400)
        return at == 0x30 || at == 0x34 || at == 0x38;
    return reg >= QPRDC && reg < QPRDC + 0x400 && at == 0x30;
}

// The registers that exist twice (8.2.2): those of the 82598 at their old addresses.
static uint32_t place(uint32_t reg)
{
    if (reg >= SRRCTL_LOW && reg < SRRCTL_LOW + 64)
        return RX_QUEUE + (reg - SRRCTL_LOW) / 4 * 64 + RX_SRRCTL;
    if (reg >= RAL_HIGH && reg < RAL_HIGH + 128)
        return RAL + (reg - RAL_HIGH);
    if (reg == 0xec80)
        return MRQC;
    if (reg >= 0xeb00 && reg < 0xeb80)
        return RETA + (reg - 0xeb00);
    if (reg >= 0xeb80 && reg < 0xeba8)
        return RSSRK + (reg - 0xeb80);
    return reg;
}

static uint32_t read_reg(uint32_t address)
{
    const uint32_t reg = place(address & ~3u);
    if (reg >= REGISTERS)
        return 0;
    const uint32_t value = regs[reg / 4];
    if (is_statistic(reg))
        regs[reg / 4] = 0;
    switch (reg) {
    case STATUS:
        return regs[CTRL / 4] & CTRL_PCIE_MASTER_DISABLE ? 0 : STATUS_PCIE_MASTER_ENABLE;
    case SWSM:
        regs[SWSM / 4] |= SWSM_SMBI;
        return value;
    case LINKS:
        return nic_link_up() ? links_up : 0;
    default:
        return value;
    }
}

static void write_reg(uint32_t address, uint32_t value)
{
    const uint32_t reg = place(address & ~3u);
    if (reg >= REGISTERS || is_statistic(reg) || reg == STATUS || reg == LINKS || reg == SECRXSTAT)
        return;
    if (reg == CTRL && (value & (CTRL_RST | CTRL_LRST)) != 0) {
        reset();
        regs[CTRL / 4] = value & ~(uint32_t)(CTRL_RST | CTRL_LRST);
        return;
    }
    if (reg == EERD && (value & EERD_START) != 0)
        value = (value & 0xfffc) | EERD_DONE | (uint32_t)eeprom(value >> 2 & 0x3fff) << 16;
    if (reg == AUTOC)
        value &= ~(uint32_t)AUTOC_RESTART_AN;
    if (reg == EEC)
        value |= EEC_PRESENT | EEC_AUTO_READ_DONE;
    if (reg == RDRXCTL)
        value |= RDRXCTL_DMA_DONE;
    regs[reg / 4] = value;
    if (reg >= TX_QUEUE && reg < TX_QUEUE + NIC_QUEUES_MAX * 64 && (reg & 0x3f) == TX_TDT)
        nic_kick();
    if (reg >= RX_QUEUE && reg < RX_QUEUE + NIC_QUEUES_MAX * 64 && (reg & 0x3f) == RX_RDT)
        nic_kick_if_waiting();
}

static void count(uint32_t reg, uint32_t n)
{
    regs[reg / 4] += n;
}

static void count64(uint32_t reg, uint64_t n)
{
    const uint64_t sum = (regs[reg / 4] | (uint64_t)regs[reg / 4 + 1] << 32) + n;
    regs[reg / 4] = (uint32_t)sum;
    regs[reg / 4 + 1] = (uint32_t)(sum >> 32);
}

static bool is_broadcast(const uint8_t *to)
{
    static const uint8_t all[6] = {255, 255, 255, 255, 255, 255};
    return memcmp(to, all, 6) == 0;
}

static unsigned size_class(uint32_t bytes)
{
    return bytes <= 64    ? 0
           : bytes < 128  ? 1
           : bytes < 256  ? 2
           : bytes < 512  ? 3
           : bytes < 1024 ? 4
                          : 5;
}

// Receive.

static bool hashed_multicast(const uint8_t *to)
{
    // 7.1.1 Multicast filter: bits 47:36 of the address, or lower ones.
    const unsigned low = to[4], high = to[5];
    static const unsigned shift[] = {4, 3, 2, 0};
    const unsigned s = shift[regs[MCSTCTRL / 4] & 3];
    const unsigned vector = (low >> s | high << (8 - s)) & 0xfff;
    return (regs[MCSTCTRL / 4] & MCSTCTRL_MFE) != 0 &&
           (regs[MTA / 4 + vector / 32] >> vector % 32 & 1) != 0;
}

static bool is_own(const uint8_t *to)
{
    for (unsigned i = 0; i < 16; i++) {
        const uint32_t *entry = &regs[RAL / 4 + i * 2];
        if ((entry[1] & RAH_VALID) != 0 && memcmp(entry, to, 6) == 0)
            return true;
    }
    return false;
}

// 7.1.1: MAC address filtering.
static bool accepts(const uint8_t *frame, uint32_t len)
{
    const uint32_t fctrl = regs[FCTRL / 4];
    const uint32_t longest = regs[HLREG0 / 4] & HLREG0_JUMBO ? regs[MAXFRS / 4] >> 16 : 1518;
    if ((regs[RXCTRL / 4] & RXCTRL_RXEN) == 0 || len < 14)
        return false;
    if (len + 4 > longest + (frame[12] == 0x81 && frame[13] == 0 ? 4 : 0)) {
        count(ROC, 1);
        return false;
    }
    count(TPR, 1);
    count64(TORL, frame_wire_bytes(len));
    if (is_broadcast(frame))
        return (fctrl & FCTRL_BAM) != 0;
    if ((frame[0] & 1) != 0)
        return (fctrl & FCTRL_MPE) != 0 || hashed_multicast(frame) || is_own(frame);
    return (fctrl & FCTRL_UPE) != 0 || is_own(frame);
}

struct verdict {
    uint32_t info, hash, status;  // descriptor words 0, 1 and 2
    unsigned queue;
};

// 7.1.2.8 Receive-side scaling: the fields of the hash, by MRQC.
static void set_hash(const uint8_t *data, const struct frame *f, struct verdict *v)
{
    static const struct {
        bool v4, tcp, udp;
        unsigned bit, type;
    } kinds[] = {
        {true, true, false, 16, 1},  {true, false, true, 22, 7},  {true, false, false, 17, 2},
        {false, true, false, 21, 3}, {false, false, true, 23, 8}, {false, false, false, 20, 5},
    };
    const uint32_t mrqc = regs[MRQC / 4];
    if ((mrqc & 15) != 1 || (!f->v4 && !f->v6))
        return;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const bool l4 = kinds[i].tcp || kinds[i].udp;
        if (kinds[i].v4 != f->v4 || (mrqc >> kinds[i].bit & 1) == 0)
            continue;
        if ((kinds[i].tcp && !f->tcp) || (kinds[i].udp && !f->udp))
            continue;
        v->hash = frame_hash(data, f, l4 ? FRAME_HASH_L4 : FRAME_HASH_L3,
                             (const uint8_t *)&regs[RSSRK / 4]);
        v->info |= kinds[i].type;
        v->queue = ((const uint8_t *)&regs[RETA / 4])[v->hash & 127] & 15;
        return;
    }
}

// 7.1.11: checksum offload.
static void set_checksums(const struct frame *f, struct verdict *v)
{
    if (f->v4) {
        v->status |= RX_IPCS;
        if (!f->ip_ok || nic_fault_bad_ip())
            v->status |= RX_IPE;
    }
    if (!f->l4_checked)
        return;
    // Erratum: a datagram without a checksum may be marked as wrong; it always is here.
    v->status |= RX_L4CS;
    if (!f->l4_ok || f->udp_zero || nic_fault_bad_l4())
        v->status |= RX_L4E;
    if (f->udp_zero)
        count(XEC, 1);
}

static void judge(const uint8_t *data, uint32_t len, struct verdict *v)
{
    struct frame f;
    frame_parse(data, len, &f);
    memset(v, 0, sizeof(*v));
    if (f.v4)
        v->info |= RX_TYPE_V4 | (f.more ? RX_TYPE_V4_MORE : 0);
    if (f.v6)
        v->info |= RX_TYPE_V6 | (f.more ? RX_TYPE_V6_MORE : 0);
    v->info |= (f.tcp ? RX_TYPE_TCP : 0) | (f.udp ? RX_TYPE_UDP : 0);
    if (f.vlan)
        v->status |= RX_VP;
    set_hash(data, &f, v);
    set_checksums(&f, v);
}

static unsigned enabled_queues(void)
{
    unsigned n = 0;
    while (n < NIC_QUEUES_MAX && (*rx_reg(n, RX_RXDCTL) & QUEUE_ENABLE) != 0)
        n++;
    return n;
}

static unsigned counter_of(uint32_t map, unsigned queue)
{
    return regs[map / 4 + queue / 4] >> queue % 4 * 8 & 15;
}

// write_back: 7.1.6.2. The word with DD goes last, with the rest of its half, as one write of 16
// bytes does.
static void write_back(struct rx_desc *d, const struct verdict *v, uint32_t bytes, bool last)
{
    const uint32_t status = RX_DD | (last ? RX_EOP | v->status : 0);
    d->low = v->info | (uint64_t)v->hash << 32;
    __atomic_store_n(&d->high, status | (uint64_t)bytes << 32, __ATOMIC_RELEASE);
}

// fill: the frame into the descriptors from RDH on, of which there are enough.
static void fill(unsigned q, const uint8_t *data, uint32_t len, uint32_t room,
                 const struct verdict *v)
{
    const uint64_t base = *rx_reg(q, RX_RDBAL) | (uint64_t)*rx_reg(q, RX_RDBAH) << 32;
    const uint32_t ring = *rx_reg(q, RX_RDLEN) / 16;
    for (uint32_t at = 0; at < len;) {
        const uint32_t head = *rx_reg(q, RX_RDH), part = len - at < room ? len - at : room;
        struct rx_desc *d = nic_dma(base + head * 16, 16);
        uint8_t *to = d == NULL ? NULL : nic_dma(d->low, part);
        if (to != NULL)
            memcpy(to, data + at, part);
        at += part;
        if (d != NULL)
            write_back(d, v, part, at == len);
        *rx_reg(q, RX_RDH) = (head + 1) % ring;
    }
}

static void count_received(unsigned q, const uint8_t *data, uint32_t len)
{
    const uint32_t wire = frame_wire_bytes(len);
    const unsigned n = counter_of(RQSMR, q);
    rx_queues[q].packets++;
    count(GPRC, 1);
    count64(GORCL, wire);
    count(PRC64 + size_class(wire) * 4, 1);
    count(is_broadcast(data) ? BPRC : MPRC, data[0] & 1);
    count(QPRC + n * 64, 1);
    count64(QBRC + n * 64, len);
}

// 7.1.9 Receive queuing: without descriptors the frame is dropped (SRRCTL.Drop_En), or holds up all
// others.
static enum nic_taken receive(const uint8_t *data, uint32_t len)
{
    struct verdict v;
    judge(data, len, &v);
    const unsigned q = nic_fault_queue(v.queue, enabled_queues());
    const uint32_t ring = *rx_reg(q, RX_RDLEN) / 16, room = (*rx_reg(q, RX_SRRCTL) & 31) * 1024;
    if ((*rx_reg(q, RX_RXDCTL) & QUEUE_ENABLE) == 0 || ring == 0 || room == 0) {
        rx_queues[q].dropped++;
        return NIC_TAKEN;
    }
    const uint32_t have = (*rx_reg(q, RX_RDT) + ring - *rx_reg(q, RX_RDH)) % ring;
    if (have < (len + room - 1) / room || nic_fault_stuck_rx(q)) {
        if ((*rx_reg(q, RX_SRRCTL) & SRRCTL_DROP_EN) == 0)
            return NIC_BLOCKED;
        rx_queues[q].dropped++;
        count(QPRDC + counter_of(RQSMR, q) * 64, 1);
        return NIC_TAKEN;
    }
    fill(q, data, len, room, &v);
    count_received(q, data, len);
    return NIC_TAKEN;
}

static void missed(void)
{
    count(MPC, 1);
}

// Transmit.

static struct tx_queue *sending;

static void send_one(const uint8_t *frame, uint32_t len)
{
    const uint32_t wire = frame_wire_bytes(len);
    const unsigned n = counter_of(TQSM, (unsigned)(sending - tx_queues));
    sending->packets++;
    count(GPTC, 1);
    count(TPT, 1);
    count64(GOTCL, wire);
    count(PTC64 + size_class(wire) * 4, 1);
    count(QPTC + n * 4, 1);
    count64(QBTC + n * 8, len);
    nic_send(frame, len);
}

// 7.2.3.2: the context descriptor's fields, for the packet that was put together.
static void send_packet(struct tx_queue *t)
{
    const struct context *c = &t->contexts[t->first_options >> 4 & 1];
    const uint32_t mss_word = c->mss;
    const bool tso = (t->first_command & TX_TSE) != 0;
    struct frame_tx tx = {
        .data = t->data,
        .len = t->len,
        .l2 = c->lengths >> 9 & 127,
        .l3 = c->lengths & 511,
        .l4 = mss_word >> 8 & 255,
        .mss = tso ? mss_word >> 16 : 0,
        .v4 = (c->command & 1 << 10) != 0,
        .tcp = (c->command >> 11 & 3) == 1,
        .ip_sum = (t->first_options & TX_IXSM) != 0,
        .l4_sum = (t->first_options & TX_TXSM) != 0,
        .first = regs[DTXTCPFLGL / 4] & 0xfff,
        .middle = regs[DTXTCPFLGL / 4] >> 16 & 0xfff,
        .last = regs[DTXTCPFLGH / 4] & 0xfff,
    };
    const uint32_t payload = tso ? t->len - (tx.l2 + tx.l3 + tx.l4) : t->len;
    if (t->first_options >> 14 != payload)
        nic_wrong("PAYLEN %u of a packet with %u bytes", t->first_options >> 14, payload);
    if (tso && (tx.mss == 0 || t->len <= tx.l2 + tx.l3 + tx.l4)) {
        nic_wrong("TSO of %u bytes with MSS %u", t->len, tx.mss);
        return;
    }
    sending = t;
    frame_send(&tx, &t->work, send_one);
}

static void take_data(struct tx_queue *t, struct tx_desc *d)
{
    const uint32_t bytes = d->command & 0xffff;
    if (t->descriptors++ == 0) {
        t->len = 0;
        t->first_command = d->command;
        t->first_options = d->options;
    }
    if (t->descriptors > TX_SEGMENTS_MAX)
        nic_wrong("a packet of more than %d descriptors", TX_SEGMENTS_MAX);
    const uint8_t *from = bytes == 0 ? NULL : nic_dma(d->address, bytes);
    if (from == NULL || t->len + bytes > NIC_PACKET_MAX)
        nic_wrong("a transmit buffer of %u bytes", bytes);
    else
        memcpy(t->data + t->len, from, bytes);
    t->len += from == NULL ? 0 : bytes;
    if ((d->command & TX_EOP) == 0)
        return;
    t->descriptors = 0;
    send_packet(t);
}

static void take_descriptor(struct tx_queue *t, struct tx_desc *d)
{
    const unsigned type = d->command >> 20 & 15;
    if ((d->command & TX_DEXT) == 0) {
        nic_wrong("a legacy transmit descriptor");
    } else if (type == TX_CONTEXT) {
        const uint32_t *words = (const uint32_t *)d;
        t->contexts[words[3] >> 4 & 1] =
            (struct context){.lengths = words[0], .command = words[2], .mss = words[3]};
    } else if (type == TX_DATA) {
        const uint32_t command = d->command;
        take_data(t, d);
        if ((command & TX_RS) != 0)  // 7.2.3: the status, when its data have been fetched
            __atomic_store_n(&d->options, 1, __ATOMIC_RELEASE);
    } else {
        nic_wrong("transmit descriptor of type %u", type);
    }
}

static void transmit_queue(unsigned q)
{
    struct tx_queue *t = &tx_queues[q];
    const uint64_t base = *tx_reg(q, TX_TDBAL) | (uint64_t)*tx_reg(q, TX_TDBAH) << 32;
    const uint32_t ring = *tx_reg(q, TX_TDLEN) / 16, tail = *tx_reg(q, TX_TDT);
    if ((*tx_reg(q, TX_TXDCTL) & QUEUE_ENABLE) == 0 || ring == 0 || nic_fault_stuck_tx(q))
        return;
    static uint8_t packets[NIC_QUEUES_MAX][NIC_PACKET_MAX];
    t->data = packets[q];
    if (tail >= ring) {
        nic_wrong("TDT %u in a ring of %u", tail, ring);
        return;
    }
    while (*tx_reg(q, TX_TDH) != tail) {
        const uint32_t head = *tx_reg(q, TX_TDH);
        struct tx_desc *d = nic_dma(base + head * 16, 16);
        if (d == NULL)
            return;
        take_descriptor(t, d);
        *tx_reg(q, TX_TDH) = (head + 1) % ring;
    }
}

static void transmit(void)
{
    if ((regs[DMATXCTL / 4] & DMATXCTL_TE) == 0)
        return;
    for (unsigned q = 0; q < NIC_QUEUES_MAX; q++)
        transmit_queue(q);
}

static void spoil(bool key)
{
    if (key)
        regs[RSSRK / 4 + 3] ^= 0xffffffff;
    for (unsigned i = 0; i < 128 && !key; i++) {
        uint8_t *entry = (uint8_t *)&regs[RETA / 4] + i;
        *entry = (uint8_t)((*entry + 1u) % enabled_queues());
    }
}

static void state(FILE *out)
{
    for (unsigned q = 0; q < enabled_queues(); q++) {
        fprintf(out, "rx_queue_%u %llu\nrx_dropped_%u %llu\ntx_queue_%u %llu\n", q,
                (unsigned long long)rx_queues[q].packets, q,
                (unsigned long long)rx_queues[q].dropped, q,
                (unsigned long long)tx_queues[q].packets);
        frame_work_print(out, q, &tx_queues[q].work);
        fprintf(out, "drop_en_%u %d\n", q, (*rx_reg(q, RX_SRRCTL) & SRRCTL_DROP_EN) != 0);
    }
}

const struct nic_chip nic_ixgbe = {
    .name = "82599",
    .bar_bytes = BAR_BYTES,
    .buffer_bytes = 512 * 1024,
    .reset = reset,
    .read = read_reg,
    .write = write_reg,
    .accepts = accepts,
    .receive = receive,
    .missed = missed,
    .transmit = transmit,
    .spoil = spoil,
    .state = state,
};
