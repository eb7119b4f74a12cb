// SPDX-License-Identifier: BSD-3-Clause
// Intel X710 (10 GbE), one port and one function. Names in quotes are chapters of the
// "Intel Ethernet Controller X710/XXV710/XL710 Datasheet", whose numbers change with its revisions.
// Registers that are not named here are storage.
#include <string.h>

#include "frame.h"
#include "nic.h"

enum {
    REGISTERS = 0x400000,

    // "General Registers", "PCIe Registers".
    PFGEN_CTRL = 0x00092400,
    PFGEN_CTRL_PFSWR = 1 << 0,
    GLPCI_CNF2 = 0x000be494,
    // "NVM Registers".
    GLNVM_ULD = 0x000b6008,
    GLNVM_GENS = 0x000b6100,
    GLNVM_FLA = 0x000b6108,
    GLNVM_SRCTL = 0x000b6110,
    // "Host Memory Cache Registers": the memory of the contexts of queues.
    PFHMC_SDCMD = 0x000c0000,
    PFHMC_SDDATALOW = 0x000c0100,
    PFHMC_SDDATAHIGH = 0x000c0200,
    GLHMC_LANTXOBJSZ = 0x000c2004,
    GLHMC_LANQMAX = 0x000c2008,
    GLHMC_LANRXOBJSZ = 0x000c200c,
    GLHMC_FCOEFMAX = 0x000c20d0,
    GLHMC_LANTXBASE = 0x000c6200,
    GLHMC_LANRXBASE = 0x000c6400,
    // "Admin Queue Registers".
    PF_ATQBAL = 0x00080000,
    PF_ATQBAH = 0x00080100,
    PF_ATQLEN = 0x00080200,
    PF_ATQH = 0x00080300,
    PF_ATQT = 0x00080400,
    // "LAN Transmit Receive Registers".
    PFLAN_QALLOC = 0x001c0400,
    QTX_ENA = 0x00100000,
    QTX_TAIL = 0x00108000,
    QRX_ENA = 0x00120000,
    QRX_TAIL = 0x00128000,
    QENA_REQ = 1 << 0,
    QENA_STAT = 1 << 2,
    GLLAN_TSOMSK_F = 0x000442d8,
    GLLAN_TSOMSK_M = 0x000442dc,
    GLLAN_TSOMSK_L = 0x000442e0,
    // "Rx Filters Registers": RSS.
    PFQF_CTL_0 = 0x001c0ac0,
    PFQF_CTL_0_LUT_512 = 1 << 16,
    PFQF_HLUT = 0x00240000,  // 128 bytes from one to the next
    PFQF_HKEY = 0x00244800,
    PFQF_HENA = 0x00245900,
    // "MAC Registers".
    PRTMAC_LINKSTA = 0x001e2420,
    // "Statistics Registers": they count on when they are read.
    GLV_RDPC = 0x00310000,
    GLV_GOTC = 0x00328000,
    GLV_UPTC = 0x0033c000,
    GLV_MPTC = 0x0033cc00,
    GLV_BPTC = 0x0033d800,
    GLV_GORC = 0x00358000,
    GLV_UPRC = 0x0036c000,
    GLV_MPRC = 0x0036cc00,
    GLV_BPRC = 0x0036d800,
    GLPRT_GORC = 0x00300000,
    GLPRT_UPRC = 0x003005a0,
    GLPRT_MPRC = 0x003005c0,
    GLPRT_BPRC = 0x003005e0,
    GLPRT_RDPC = 0x00300600,
    GLPRT_GOTC = 0x00300680,
    GLPRT_UPTC = 0x003009c0,
    GLPRT_MPTC = 0x003009e0,
    GLPRT_BPTC = 0x00300a00,

    // The one VSI and its uplink: "Internal Switch".
    VSI_SEID = 0x186,
    UPLINK_SEID = 2,
    VSI_NUMBER = 1,
    VSI_STATISTICS = 1,
    PF_QUEUES = 128,
    LUT_ENTRIES = 512,
    MAC_MAX = 64,
    SD_MAX = 512,  // segment descriptors of the HMC, of 2 MiB each
};

#define GLNVM_SRCTL_DONE UINT32_C(0x80000000)
static const uint32_t linksta_up = UINT32_C(0x50000080);  // up, 10 Gbit/s
static const uint8_t mac[6] = {0x02, 0x07, 0x10, 0x00, 0x00, 0x01};

// "Receive Descriptor - Write Back": legacy descriptors of 32 bytes.
enum {
    RX_DD = 1 << 0,
    RX_EOF = 1 << 1,
    RX_L3L4P = 1 << 3,
    RX_HASH = 3 << 12,
    RX_IPE = 1 << 22,
    RX_L4E = 1 << 23,
    RX_TYPE_SHIFT = 30,
    RX_LENGTH_SHIFT = 38,
};

// "Transmit Descriptor".
enum {
    TX_DATA = 0,
    TX_CONTEXT = 1,
    TX_DONE = 15,
    TX_EOP = 1 << 4,
    TX_RS = 1 << 5,
    TX_TSO = 1 << 4,  // of a context descriptor
    TX_BUFFERS_MAX = 8,
    TX_DESCRIPTORS_MAX = 256,
};

static uint32_t regs[REGISTERS / 4];
static struct {
    uint64_t address;
    bool valid, direct;
} segments[SD_MAX];
static struct {
    uint8_t address[MAC_MAX][6];
    unsigned count;
    uint16_t promiscuous;  // 0x0254's flags
    uint16_t longest;      // 0x0603's
} filters;
static uint8_t vsi[128];  // its properties, as "Add VSI" has them
static struct rx_queue {
    uint64_t base;
    uint32_t ring, room, head;
    uint64_t packets, dropped;
} rx_queues[PF_QUEUES];
static struct tx_queue {
    uint64_t base;
    uint32_t ring, head;
    uint64_t context;  // of the packet that is being put together; 0: none
    uint64_t first;
    uint8_t data[NIC_PACKET_MAX];
    uint32_t len, buffers, end[TX_DESCRIPTORS_MAX];
    uint64_t packets;
    struct frame_work work;
} tx_queues[PF_QUEUES];
static uint64_t commands, unknown;

static uint16_t get16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, 2);
    return v;
}

static void put16(uint8_t *p, unsigned v)
{
    const uint16_t w = (uint16_t)v;
    memcpy(p, &w, 2);
}

static void put32(uint8_t *p, uint32_t v)
{
    memcpy(p, &v, 4);
}

static uint64_t bits(const uint8_t *p, unsigned low, unsigned n)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < n; i++)
        v |= (uint64_t)(p[(low + i) / 8] >> (low + i) % 8 & 1) << i;
    return v;
}

// "PF Reset (PFR)".
static void reset(void)
{
    memset(regs, 0, sizeof(regs));
    memset(segments, 0, sizeof(segments));
    memset(&filters, 0, sizeof(filters));
    memset(vsi, 0, sizeof(vsi));
    filters.longest = 9728;
    put16(vsi + 112, VSI_STATISTICS);
    regs[GLPCI_CNF2 / 4] = 4 << 2 | 4 << 13;  // interrupts of a function
    regs[GLNVM_ULD / 4] = 1 << 3 | 1 << 4;    // core and global configuration have been loaded
    regs[GLNVM_GENS / 4] = 5 << 5;
    regs[GLNVM_FLA / 4] = 1 << 6;
    regs[GLNVM_SRCTL / 4] = GLNVM_SRCTL_DONE;
    regs[GLHMC_LANTXOBJSZ / 4] = 7;
    regs[GLHMC_LANRXOBJSZ / 4] = 5;
    regs[GLHMC_LANQMAX / 4] = 1536;
    regs[GLHMC_FCOEFMAX / 4] =
        0x20000;  // the driver's check before it sets the size of the RSS table
    regs[PFLAN_QALLOC / 4] = (PF_QUEUES - 1) << 16 | UINT32_C(1) << 31;
    regs[GLLAN_TSOMSK_F / 4] = regs[GLLAN_TSOMSK_M / 4] = 0xff6;
    regs[GLLAN_TSOMSK_L / 4] = 0xf7f;
}

// "Host Memory Cache (HMC)", "LAN Rx Queue Context", "LAN Tx Queue Context".

static const uint8_t *hmc(uint64_t address, size_t bytes)
{
    const uint64_t index = address >> 21, offset = address & 0x1fffff;
    if (index >= SD_MAX || !segments[index].valid)
        return NULL;
    if (segments[index].direct)
        return nic_dma(segments[index].address + offset, bytes);
    const uint64_t *page = nic_dma(segments[index].address + (offset >> 12) * 8, 8);
    return page == NULL || (*page & 1) == 0
               ? NULL
               : nic_dma((*page & ~UINT64_C(0xfff)) + (offset & 0xfff), bytes);
}

static void enable_rx(unsigned q)
{
    const uint8_t *c = hmc((uint64_t)regs[GLHMC_LANRXBASE / 4] * 512 + q * 32, 32);
    struct rx_queue *r = &rx_queues[q];
    if (c == NULL) {
        nic_wrong("receive queue %u without a context", q);
        return;
    }
    r->head = (uint32_t)bits(c, 0, 13);
    r->base = bits(c, 32, 57) * 128;
    r->ring = (uint32_t)bits(c, 89, 13);
    r->room = (uint32_t)bits(c, 102, 7) * 128;
    if (bits(c, 116, 1) != 1 || bits(c, 114, 2) != 0)
        nic_wrong("receive queue %u: not one buffer a descriptor of 32 bytes", q);
}

static void enable_tx(unsigned q)
{
    const uint8_t *c = hmc((uint64_t)regs[GLHMC_LANTXBASE / 4] * 512 + q * 128, 128);
    struct tx_queue *t = &tx_queues[q];
    if (c == NULL) {
        nic_wrong("transmit queue %u without a context", q);
        return;
    }
    t->head = (uint32_t)bits(c, 0, 13);
    t->base = bits(c, 32, 57) * 128;
    t->ring = (uint32_t)bits(c, 33 + 128, 13);
    t->context = t->len = t->buffers = 0;
}

static void write_segment(uint32_t command)
{
    const uint32_t index = command & 0xfff, low = regs[PFHMC_SDDATALOW / 4];
    if (command >> 31 == 0 || index >= SD_MAX)
        return;
    segments[index].valid = (low & 1) != 0;
    segments[index].direct = (low & 2) != 0;
    segments[index].address = (low & ~0xfffu) | (uint64_t)regs[PFHMC_SDDATAHIGH / 4] << 32;
}

// "Admin Queue".

struct command {
    uint16_t flags, opcode, bytes, result;
    uint32_t cookie[2];
    uint8_t param[16];
};
enum { PHY_10GBASE_SR = 0x14, SPEED_10G = 1 << 3 };  // "Link Configuration"
enum { AQ_DD = 1 << 0, AQ_CMP = 1 << 1, AQ_BUFFER = 1 << 12 };

static uint32_t read_reg(uint32_t reg);
static void write_reg(uint32_t reg, uint32_t value);

// list_capabilities: "Discover Function Capabilities".
static void list_capabilities(struct command *c, uint8_t *to, uint32_t room)
{
    static const struct {
        uint16_t id;
        uint32_t number, logical, physical;
    } list[] = {
        {0x05, 1, 0, 0},                                     // functions
        {0x17, 384, 0, 0},                                   // VSIs
        {0x18, 1, 1, 8},                                     // DCB: traffic class 0 alone, of 8
        {0x40, LUT_ENTRIES, 6, 0},                           // RSS: entries, bits of each
        {0x41, PF_QUEUES, 0, 0},   {0x42, PF_QUEUES, 0, 0},  // queues, and the first
        {0x43, 129, 0, 0},                                   // interrupts
        {0x45, 1024, 1024, 0},  // flow director: the driver does not start without
    };
    const uint32_t n = sizeof(list) / sizeof(list[0]);
    for (uint32_t i = 0; i < n && (i + 1) * 32 <= room; i++) {
        memset(to + i * 32, 0, 32);
        put16(to + i * 32, list[i].id);
        to[i * 32 + 2] = 1;
        put32(to + i * 32 + 4, list[i].number);
        put32(to + i * 32 + 8, list[i].logical);
        put32(to + i * 32 + 12, list[i].physical);
    }
    c->bytes = (uint16_t)(n * 32);
    put32(c->param + 4, n);
}

static void add_addresses(const struct command *c, uint8_t *list, uint32_t room)
{
    const unsigned n = get16(c->param);
    for (unsigned i = 0; i < n && (i + 1) * 16 <= room; i++) {
        if (filters.count < MAC_MAX)
            memcpy(filters.address[filters.count++], list + i * 16, 6);
        list[i * 16 + 12] = get16(list + i * 16 + 8) & 1 ? 1 : 2;  // how it matches
    }
}

static void remove_addresses(const struct command *c, uint8_t *list, uint32_t room)
{
    const unsigned n = get16(c->param);
    for (unsigned i = 0; i < n && (i + 1) * 16 <= room; i++) {
        for (unsigned k = 0; k < filters.count; k++)
            if (memcmp(filters.address[k], list + i * 16, 6) == 0) {
                filters.count--;
                memcpy(filters.address[k], filters.address[filters.count], 6);
                break;
            }
        list[i * 16 + 12] = 0;
    }
}

static void vsi_done(struct command *c)
{
    put16(c->param, VSI_SEID);
    put16(c->param + 2, VSI_NUMBER);
    put16(c->param + 4, 1);
    put16(c->param + 6, 383);
}

// one_vsi: "Get Switch Configuration", of a switch with one element.
static void one_vsi(uint8_t *to, uint32_t room)
{
    if (room < 32)
        return;
    memset(to, 0, 32);
    put16(to, 1);
    put16(to + 2, 1);
    to[16] = 19;  // a VSI
    to[17] = 1;
    put16(to + 18, VSI_SEID);
    put16(to + 20, UPLINK_SEID);
    to[27] = 1;
}

static void link_status(struct command *c)
{
    c->param[2] = PHY_10GBASE_SR;
    c->param[3] = SPEED_10G;
    c->param[4] = nic_link_up() ? 0x01 | 0x20 | 0x40 | 0x80 : 0x40;
    c->param[5] = nic_link_up() ? 1 : 0;
    put16(c->param + 8, filters.longest);
}

static void execute(struct command *c, uint8_t *buffer, uint32_t room)
{
    uint32_t reg, value;
    memcpy(&reg, c->param + 4, 4);
    memcpy(&value, c->param + 12, 4);
    switch (c->opcode) {
    case 0x0001:  // get version: firmware 6.1, API 1.7
        memset(c->param, 0, 16);
        put16(c->param + 8, 6);
        put16(c->param + 10, 1);
        put16(c->param + 12, 1);
        put16(c->param + 14, 7);
        break;
    case 0x000a:  // list capabilities of the function, of the device
    case 0x000b:
        list_capabilities(c, buffer, room);
        break;
    case 0x0107:  // MAC address read
        if (room >= 24) {
            memset(buffer, 0, 24);
            memcpy(buffer, mac, 6);
            memcpy(buffer + 12, mac, 6);
        }
        put16(c->param, 0x10 | 0x40);
        break;
    case 0x0200:
        one_vsi(buffer, room);
        put16(c->param, 0);
        break;
    case 0x0206:  // rx_ctl: registers of the receive unit
        put32(c->param + 12, read_reg(reg));
        break;
    case 0x0207:
        write_reg(reg, value);
        break;
    case 0xff03:
        put32(c->param + 8, 0);
        put32(c->param + 12, read_reg(reg));
        break;
    case 0xff04:
        write_reg(reg, value);
        break;
    case 0x0211:  // update VSI: the first 96 bytes
        if (room >= 96)
            memcpy(vsi, buffer, 96);
        vsi_done(c);
        break;
    case 0x0212:  // get VSI
        if (room >= sizeof(vsi))
            memcpy(buffer, vsi, sizeof(vsi));
        vsi_done(c);
        break;
    case 0x0250:
        add_addresses(c, buffer, room);
        break;
    case 0x0251:
        remove_addresses(c, buffer, room);
        break;
    case 0x0254:  // promiscuous modes: those that are valid here
        filters.promiscuous = (uint16_t)((filters.promiscuous & ~get16(c->param + 2)) |
                                         (get16(c->param) & get16(c->param + 2)));
        break;
    case 0x0603:  // MAC configuration: the longest frame
        filters.longest = get16(c->param);
        break;
    case 0x0607:
        link_status(c);
        break;
    case 0x0408:  // bandwidth of the VSI
    case 0x040a:
        if (room != 0)
            memset(buffer, 0, room);
        break;
    case 0x0600:  // PHY abilities: 10GBASE-SR
        if (room >= 24) {
            memset(buffer, 0, 24);
            put32(buffer, 1u << PHY_10GBASE_SR);
            buffer[4] = SPEED_10G;
        }
        break;
    default:
        unknown++;  // success
    }
}

static void run_commands(void)
{
    const uint64_t base = regs[PF_ATQBAL / 4] | (uint64_t)regs[PF_ATQBAH / 4] << 32;
    const uint32_t ring = regs[PF_ATQLEN / 4] & 0x3ff, tail = regs[PF_ATQT / 4];
    if (regs[PF_ATQLEN / 4] >> 31 == 0 || ring == 0 || tail >= ring)
        return;
    while (regs[PF_ATQH / 4] != tail) {
        struct command *c = nic_dma(base + regs[PF_ATQH / 4] * 32, 32);
        if (c == NULL)
            return;
        uint32_t high, low;
        memcpy(&high, c->param + 8, 4);
        memcpy(&low, c->param + 12, 4);
        const bool indirect = (c->flags & AQ_BUFFER) != 0 && c->bytes != 0;
        uint8_t *buffer = indirect ? nic_dma(low | (uint64_t)high << 32, c->bytes) : NULL;
        commands++;
        execute(c, buffer, buffer == NULL ? 0 : c->bytes);
        c->result = 0;
        c->flags |= AQ_DD | AQ_CMP;
        regs[PF_ATQH / 4] = (regs[PF_ATQH / 4] + 1) % ring;
    }
}

// Registers.

static uint32_t read_reg(uint32_t reg)
{
    if (reg >= REGISTERS)
        return 0;
    if (reg == PRTMAC_LINKSTA)
        return nic_link_up() ? linksta_up : 0;
    return regs[reg / 4];
}

static bool is_queue(uint32_t reg, uint32_t first)
{
    return reg >= first && reg < first + PF_QUEUES * 4;
}

static uint32_t enable(uint32_t reg, uint32_t value)
{
    const bool on = (value & QENA_REQ) != 0, was = (regs[reg / 4] & QENA_STAT) != 0;
    if (on && !was && is_queue(reg, QRX_ENA))
        enable_rx((reg - QRX_ENA) / 4);
    if (on && !was && is_queue(reg, QTX_ENA))
        enable_tx((reg - QTX_ENA) / 4);
    return on ? value | QENA_STAT : value & ~(uint32_t)QENA_STAT;
}

static void write_reg(uint32_t reg, uint32_t value)
{
    if (reg >= REGISTERS || reg == PRTMAC_LINKSTA || reg == PFLAN_QALLOC)
        return;
    if (reg == PFGEN_CTRL && (value & PFGEN_CTRL_PFSWR) != 0) {
        reset();
        return;
    }
    if (is_queue(reg, QRX_ENA) || is_queue(reg, QTX_ENA))
        value = enable(reg, value);
    if (reg == GLNVM_SRCTL)  // a word of the shadow RAM: 0
        value |= GLNVM_SRCTL_DONE;
    regs[reg / 4] = value;
    if (reg == PFHMC_SDCMD)
        write_segment(value);
    if (reg == PF_ATQT)
        run_commands();
    if (is_queue(reg, QTX_TAIL))
        nic_kick();
    if (is_queue(reg, QRX_TAIL))
        nic_kick_if_waiting();
}

static void count(uint32_t reg, uint64_t n)
{
    const uint64_t sum = (regs[reg / 4] | (uint64_t)regs[reg / 4 + 1] << 32) + n;
    regs[reg / 4] = (uint32_t)sum;
    regs[reg / 4 + 1] = (uint32_t)(sum >> 32) & 0xffff;
}

// Three counters: unicast, multicast, broadcast.
static void count_kind(const uint8_t *frame, uint32_t uni, uint32_t multi, uint32_t broad)
{
    static const uint8_t all[6] = {255, 255, 255, 255, 255, 255};
    count(memcmp(frame, all, 6) == 0 ? broad : frame[0] & 1 ? multi : uni, 1);
}

// Receive.

// "Switch Forwarding": the switch sends a frame to the VSI by its MAC filters and promiscuous
// modes.
static bool accepts(const uint8_t *frame, uint32_t len)
{
    static const uint8_t all[6] = {255, 255, 255, 255, 255, 255};
    if (len < 14 || len + 4 > filters.longest)
        return false;
    count(GLPRT_GORC, frame_wire_bytes(len));
    count_kind(frame, GLPRT_UPRC, GLPRT_MPRC, GLPRT_BPRC);
    for (unsigned i = 0; i < filters.count; i++)
        if (memcmp(filters.address[i], frame, 6) == 0)
            return true;
    const unsigned flag = memcmp(frame, all, 6) == 0 ? 4 : frame[0] & 1 ? 2 : 1;
    return (filters.promiscuous & flag) != 0;
}

struct verdict {
    uint32_t hash, status;
    unsigned type, queue;
};

// "Packet Classifier Types", whose bits PFQF_HENA enables; "Packet Types" of descriptors.
static void classify(const struct frame *f, unsigned *pctype, unsigned *type)
{
    const unsigned base = f->v4 ? 31 : 41;
    const unsigned first = f->v4 ? 22 : 88;
    if (!f->v4 && !f->v6) {
        *pctype = 63;
        *type = 1;
        return;
    }
    *pctype = f->fragment ? base + 5 : f->tcp ? base + 2 : f->udp ? base : base + 4;
    *type = f->fragment ? first : f->tcp ? first + 4 : f->udp ? first + 2 : first + 1;
}

static unsigned lut(uint32_t hash)
{
    const unsigned size = regs[PFQF_CTL_0 / 4] & PFQF_CTL_0_LUT_512 ? LUT_ENTRIES : 128;
    const unsigned i = hash & (size - 1);
    return regs[(PFQF_HLUT + i / 4 * 128) / 4] >> i % 4 * 8 & 0x3f;
}

// queue_base: of traffic class 0 of the VSI, and its queues.
static unsigned queue_base(unsigned *queues)
{
    const uint16_t tc = get16(vsi + 62);
    *queues = 1u << (tc >> 9 & 7);
    return (get16(vsi + 30) & 0x7ff) + (tc & 0x1ff);
}

static unsigned enabled_queues(void)
{
    unsigned most, n = 0;
    const unsigned base = queue_base(&most);
    while (base + n < PF_QUEUES && (regs[QRX_ENA / 4 + base + n] & QENA_STAT) != 0)
        n++;
    return n;
}

static void judge(const uint8_t *data, uint32_t len, struct verdict *v)
{
    struct frame f;
    unsigned pctype, queues;
    uint8_t key[52];
    frame_parse(data, len, &f);
    memset(v, 0, sizeof(*v));
    classify(&f, &pctype, &v->type);
    const unsigned base = queue_base(&queues);
    if (pctype != 63 && (regs[(PFQF_HENA + pctype / 32 * 128) / 4] >> pctype % 32 & 1) != 0) {
        for (unsigned i = 0; i < 13; i++)
            memcpy(key + i * 4, &regs[(PFQF_HKEY + i * 128) / 4], 4);
        v->hash = frame_hash(data, &f, f.tcp || f.udp ? FRAME_HASH_L4 : FRAME_HASH_L3, key);
        v->status |= RX_HASH;
        v->queue = lut(v->hash) & (queues - 1);
    }
    v->queue = base + nic_fault_queue(v->queue, enabled_queues());
    // "Receive L3 and L4 Integrity Check". A datagram without checksum is taken as right.
    if (f.v4 || f.l4_checked)
        v->status |= RX_L3L4P;
    if (f.v4 && (!f.ip_ok || nic_fault_bad_ip()))
        v->status |= RX_IPE;
    if (f.l4_checked && ((!f.l4_ok && !f.udp_zero) || nic_fault_bad_l4()))
        v->status |= RX_L4E;
}

static void fill(struct rx_queue *r, const uint8_t *data, uint32_t len, const struct verdict *v)
{
    for (uint32_t at = 0; at < len;) {
        const uint32_t part = len - at < r->room ? len - at : r->room;
        uint64_t *d = nic_dma(r->base + r->head * 32, 32);
        uint8_t *to = d == NULL ? NULL : nic_dma(d[0], part);
        if (to != NULL)
            memcpy(to, data + at, part);
        at += part;
        r->head = (r->head + 1) % r->ring;
        if (d == NULL)
            continue;
        d[0] = (uint64_t)v->hash << 32;
        const uint64_t last =
            at == len ? RX_EOF | v->status | (uint64_t)v->type << RX_TYPE_SHIFT : 0;
        __atomic_store_n(&d[1], RX_DD | last | (uint64_t)part << RX_LENGTH_SHIFT, __ATOMIC_RELEASE);
    }
}

// "LAN Rx Queues": a queue without descriptors drops, and holds up nobody.
static enum nic_taken receive(const uint8_t *data, uint32_t len)
{
    struct verdict v;
    judge(data, len, &v);
    struct rx_queue *r = &rx_queues[v.queue % PF_QUEUES];
    const uint32_t q = (uint32_t)(r - rx_queues), tail = regs[QRX_TAIL / 4 + q];
    unsigned queues;
    count(GLV_GORC + VSI_STATISTICS * 8, frame_wire_bytes(len));
    count_kind(data, GLV_UPRC + VSI_STATISTICS * 8, GLV_MPRC + VSI_STATISTICS * 8,
               GLV_BPRC + VSI_STATISTICS * 8);
    if ((regs[QRX_ENA / 4 + q] & QENA_STAT) == 0 || r->ring == 0 || r->room == 0 ||
        (tail + r->ring - r->head) % r->ring < (len + r->room - 1) / r->room ||
        nic_fault_stuck_rx(q - queue_base(&queues))) {
        r->dropped++;
        regs[(GLV_RDPC + VSI_STATISTICS * 8) / 4]++;
        return NIC_TAKEN;
    }
    fill(r, data, len, &v);
    r->packets++;
    return NIC_TAKEN;
}

static void missed(void)
{
    regs[GLPRT_RDPC / 4]++;
}

// Transmit.

static struct tx_queue *sending;

static void send_one(const uint8_t *frame, uint32_t len)
{
    const uint32_t wire = frame_wire_bytes(len);
    sending->packets++;
    count(GLPRT_GOTC, wire);
    count_kind(frame, GLPRT_UPTC, GLPRT_MPTC, GLPRT_BPTC);
    count(GLV_GOTC + VSI_STATISTICS * 8, wire);
    count_kind(frame, GLV_UPTC + VSI_STATISTICS * 8, GLV_MPTC + VSI_STATISTICS * 8,
               GLV_BPTC + VSI_STATISTICS * 8);
    nic_send(frame, len);
}

static unsigned buffer_of(const struct tx_queue *t, uint32_t byte)
{
    unsigned i = 0;
    while (i < t->buffers && t->end[i] <= byte)
        i++;
    return i;
}

// "Transmit Packet in System Memory": a packet, and each segment with its headers, has at most 8
// buffers. More stops the queue as malicious.
static void check_buffers(const struct tx_queue *t, uint32_t headers, uint32_t mss)
{
    if (mss == 0) {
        if (t->buffers > TX_BUFFERS_MAX)
            nic_wrong("a packet in %u buffers", t->buffers);
        return;
    }
    const unsigned first = buffer_of(t, headers - 1) + 1;
    for (uint32_t at = headers; at < t->len; at += mss) {
        const uint32_t end = at + mss < t->len ? at + mss : t->len;
        const unsigned n = buffer_of(t, end - 1) - buffer_of(t, at) + 1;
        if (first + n > TX_BUFFERS_MAX + 1) {
            nic_wrong("a segment in %u buffers after %u of its headers", n, first);
            return;
        }
    }
}

static void send_packet(struct tx_queue *t)
{
    const uint32_t command = t->first >> 4 & 0xfff, offset = t->first >> 16 & 0x3ffff;
    const unsigned ip = command >> 5 & 3, l4 = command >> 8 & 3;
    const bool tso = (t->context & TX_TSO) != 0;
    struct frame_tx tx = {
        .data = t->data,
        .len = t->len,
        .l2 = (offset & 127) * 2,
        .l3 = (offset >> 7 & 127) * 4,
        .l4 = (offset >> 14 & 15) * 4,
        .mss = tso ? (uint32_t)(t->context >> 50) & 0x3fff : 0,
        .v4 = ip >= 2,
        .tcp = l4 == 1,
        .ip_sum = ip == 3,
        .l4_sum = l4 == 1 || l4 == 3,
        .first = regs[GLLAN_TSOMSK_F / 4] & 0xfff,
        .middle = regs[GLLAN_TSOMSK_M / 4] & 0xfff,
        .last = regs[GLLAN_TSOMSK_L / 4] & 0xfff,
    };
    const uint32_t headers = tx.l2 + tx.l3 + tx.l4;
    if (l4 != 0 && ip == 0)
        nic_wrong("a TCP or UDP checksum without the type of IP");
    if (tso && (tx.mss < 256 || tx.mss > 9674 || t->len <= headers ||
                (t->context >> 30 & 0x3ffff) != t->len - headers)) {
        nic_wrong("TSO of %u bytes, headers %u, MSS %u, length %u", t->len, headers, tx.mss,
                  (unsigned)(t->context >> 30 & 0x3ffff));
        return;
    }
    check_buffers(t, headers, tx.mss);
    sending = t;
    frame_send(&tx, &t->work, send_one);
}

static void take_data(struct tx_queue *t, const uint64_t *d)
{
    const uint32_t bytes = (uint32_t)(d[1] >> 34) & 0x3fff;
    if (t->buffers == 0) {
        t->len = 0;
        t->first = d[1];
    }
    const uint8_t *from = bytes == 0 ? NULL : nic_dma(d[0], bytes);
    if (from == NULL || t->len + bytes > NIC_PACKET_MAX || t->buffers == TX_DESCRIPTORS_MAX) {
        nic_wrong("a transmit buffer of %u bytes", bytes);
    } else {
        memcpy(t->data + t->len, from, bytes);
        t->len += bytes;
        t->end[t->buffers++] = t->len;
    }
    if ((d[1] & TX_EOP) == 0)
        return;
    if (t->buffers != 0)
        send_packet(t);
    t->buffers = 0;
    t->context = 0;
}

static void transmit_queue(unsigned q)
{
    struct tx_queue *t = &tx_queues[q];
    const uint32_t tail = regs[QTX_TAIL / 4 + q];
    unsigned queues;
    if ((regs[QTX_ENA / 4 + q] & QENA_STAT) == 0 || t->ring == 0 ||
        nic_fault_stuck_tx(q - queue_base(&queues)))
        return;
    if (tail >= t->ring) {
        nic_wrong("QTX_TAIL %u in a ring of %u", tail, t->ring);
        return;
    }
    for (; t->head != tail; t->head = (t->head + 1) % t->ring) {
        uint64_t *d = nic_dma(t->base + t->head * 16, 16);
        if (d == NULL)
            return;
        const uint64_t what = d[1];
        if ((what & 15) == TX_CONTEXT)
            t->context = what;
        else if ((what & 15) == TX_DATA)
            take_data(t, d);
        else
            nic_wrong("transmit descriptor of type %u", (unsigned)(what & 15));
        if ((what & 15) == TX_DATA && (what & TX_RS) != 0)
            __atomic_store_n(&d[1], TX_DONE, __ATOMIC_RELEASE);
    }
}

static void transmit(void)
{
    unsigned queues;
    const unsigned base = queue_base(&queues);
    for (unsigned i = 0; i < NIC_QUEUES_MAX && base + i < PF_QUEUES; i++)
        transmit_queue(base + i);
}

static void spoil(bool key)
{
    if (key)
        regs[(PFQF_HKEY + 3 * 128) / 4] ^= 0xffffffff;
    for (unsigned i = 0; i < LUT_ENTRIES && !key; i++) {
        uint8_t *entry = (uint8_t *)&regs[(PFQF_HLUT + i / 4 * 128) / 4] + i % 4;
        *entry = (uint8_t)((*entry + 1u) % enabled_queues());
    }
}

static void state(FILE *out)
{
    unsigned queues;
    const unsigned base = queue_base(&queues), n = enabled_queues();
    fprintf(out, "admin_commands %llu\nadmin_unknown %llu\n", (unsigned long long)commands,
            (unsigned long long)unknown);
    for (unsigned q = 0; q < n; q++) {
        fprintf(out, "rx_queue_%u %llu\nrx_dropped_%u %llu\ntx_queue_%u %llu\n", q,
                (unsigned long long)rx_queues[base + q].packets, q,
                (unsigned long long)rx_queues[base + q].dropped, q,
                (unsigned long long)tx_queues[base + q].packets);
        frame_work_print(out, q, &tx_queues[base + q].work);
    }
}

const struct nic_chip nic_i40e = {
    .name = "x710",
    .bar_bytes = 0x800000,
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
